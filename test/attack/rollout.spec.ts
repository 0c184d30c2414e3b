import { randomUUID } from 'node:crypto';
import { afterEach, expect, it } from '@jest/globals';
import { startApp } from '../support/app-processes.mjs';
import { sharedRedis } from '../support/redis-servers.js';

type App = Awaited<ReturnType<typeof startApp>>;

/** A process that is starved neither lets anything pass nor remembers denials. */
const REDIS = { redis: sharedRedis.url, onStoreFailure: 'closed', denyCache: false };

const apps: App[] = [];

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.end()));
});

/** Processes of an old and a new deployment that share a Redis, each with its definition of `gold`. */
async function deploy(...definitions: readonly object[]): Promise<App[]> {
  const starting = definitions.map((gold) => startApp({ ...REDIS, plans: { gold } }));
  apps.push(...(await Promise.all(starting)));
  return [...apps];
}

/** Asks all of them at once, over and over. */
async function attack(processes: readonly App[], milliseconds: number) {
  const key = `mallory-${randomUUID()}`;
  const allowed = processes.map(() => 0);
  const began = performance.now();
  const hammer = async (app: App, i: number) => {
    while (performance.now() - began < milliseconds) {
      const result = (await app.call('allow', key, 'gold')) as { allowed: boolean };
      if (result.allowed) allowed[i]!++;
    }
  };
  await Promise.all(processes.flatMap((app, i) => [1, 2, 3].map(() => hammer(app, i))));
  const seconds = (performance.now() - began) / 1_000;
  return { allowed, sum: allowed.reduce((a, b) => a + b, 0), seconds };
}

it('a rollout that raises a capacity lets through what the larger bucket does', async () => {
  const processes = await deploy(
    { capacity: 10, tokensPerSecond: 1 },
    { capacity: 100, tokensPerSecond: 1 },
  );
  const { sum, seconds } = await attack(processes, 5_000);
  expect(sum).toBeLessThanOrEqual(100 + seconds);
  expect(sum).toBeGreaterThanOrEqual(10);
}, 30_000);

it('a rollout that makes a bucket of a window keeps the promises of both', async () => {
  const processes = await deploy(
    { limit: 10, windowMs: 86_400_000 },
    { capacity: 10, tokensPerSecond: 20 },
  );
  const { allowed, sum, seconds } = await attack(processes, 4_000);
  expect(allowed[0]).toBeLessThanOrEqual(10);
  expect(sum).toBeLessThanOrEqual(10 + 20 * seconds);
  expect(sum).toBeGreaterThan(20);
}, 30_000);
