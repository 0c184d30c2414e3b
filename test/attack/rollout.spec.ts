import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
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

interface Answer {
  readonly allowed: boolean;
  readonly remainingTokens: number;
}

/** A key of a test's own, and how many of its requests each process let through. */
class Attacker {
  readonly allowed: number[];
  readonly #key = `mallory-${randomUUID()}`;
  readonly #began = performance.now();

  constructor(private readonly processes: readonly App[]) {
    this.allowed = processes.map(() => 0);
  }

  get seconds(): number {
    return (performance.now() - this.#began) / 1_000;
  }

  get sum(): number {
    return this.allowed.reduce((a, b) => a + b, 0);
  }

  async ask(i: number): Promise<Answer> {
    const answer = (await this.processes[i]!.call('allow', this.#key, 'gold')) as Answer;
    if (answer.allowed) this.allowed[i]!++;
    return answer;
  }

  /** Asks all of them at once, over and over. */
  async hammer(seconds: number): Promise<void> {
    const hammer = async (i: number) => {
      while (this.seconds < seconds) await this.ask(i);
    };
    await Promise.all(this.processes.flatMap((_, i) => [hammer(i), hammer(i), hammer(i)]));
  }
}

it('a rollout that raises a capacity lets through what the larger bucket does', async () => {
  const attacker = new Attacker(
    await deploy({ capacity: 10, tokensPerSecond: 1 }, { capacity: 100, tokensPerSecond: 1 }),
  );
  while (attacker.seconds < 4) {
    // As much as leaves the smaller bucket full, and then one by its definition.
    while ((await attacker.ask(1)).remainingTokens > 10);
    await attacker.ask(0);
    await setTimeout(1_050);
  }
  expect(attacker.sum).toBeLessThanOrEqual(100 + attacker.seconds);
  expect(attacker.sum).toBeGreaterThan(80);
}, 30_000);

it('a rollout that makes a bucket of a window keeps the promises of both', async () => {
  const attacker = new Attacker(
    await deploy({ limit: 10, windowMs: 86_400_000 }, { capacity: 10, tokensPerSecond: 20 }),
  );
  await attacker.hammer(4);
  expect(attacker.allowed[0]).toBeLessThanOrEqual(10);
  expect(attacker.sum).toBeLessThanOrEqual(10 + 20 * attacker.seconds);
  expect(attacker.sum).toBeGreaterThan(20);
}, 30_000);
