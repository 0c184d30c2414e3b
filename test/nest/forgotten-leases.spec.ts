import 'reflect-metadata';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Return } from '../../lib/index.js';
import { MemoryStore, RateLimiter, RateLimitModule } from '../../lib/index.js';
import type { RateLimitOptions } from '../../lib/index.js';
import { FakeClock } from '../support/fake-clock.js';
import type { HttpApp } from '../support/http-app.js';
import { closeApps, startApp } from '../support/http-app.js';
import { sharedRedis, until } from '../support/redis-servers.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Counts what is given back. */
class CountingStore extends MemoryStore {
  releases = 0;

  override giveBack(returned: Return): boolean {
    if (returned.kind === 'release') this.releases++;
    return super.giveBack(returned);
  }
}

afterEach(closeApps);

const plans = { slots: { maxConcurrent: 2_000 }, ten: '10/s' } as const;

function start(options: RateLimitOptions = {}): Promise<HttpApp> {
  return startApp('express', { imports: [RateLimitModule.forRoot({ plans, ...options })] });
}

async function held(app: HttpApp): Promise<number> {
  return 2_000 - (await app.provider(RateLimiter).peek('user', 'slots')).remainingTokens;
}

const untilHeld = (app: HttpApp, count: number) =>
  until(`${count} slots are held`, async () => {
    collectGarbage();
    return (await held(app)) === count;
  });

/** Code that takes slots and forgets to give them back. */
async function takeAndForget(app: HttpApp, times = 1): Promise<void> {
  const limiter = app.provider(RateLimiter);
  for (let i = 0; i < times; i++) await limiter.acquire('user', 'slots');
}

const warningsOf = ({ logs }: HttpApp) =>
  logs.warnings.filter((line) => line.startsWith('LEASE_FORGOTTEN'));

describe.each([
  ['memory', () => ({})],
  ['Redis', () => ({ redis: sharedRedis.url, keyPrefix: randomUUID(), deadlineMs: 10_000 })],
] as const)('leases of code with %s', (_name, options) => {
  it('that are garbage are released, with one warning for each place', async () => {
    const app = await start(options());
    await takeAndForget(app, 3);
    expect(await held(app)).toBe(3);
    await untilHeld(app, 0);
    await takeAndForget(app, 3);
    await untilHeld(app, 0);
    expect(warningsOf(app)).toHaveLength(1);
    expect(warningsOf(app)[0]).toMatch(
      /^LEASE_FORGOTTEN: at \S+ \(.*forgotten-leases\.spec\.ts:48:\d+\), plan "slots"\. /,
    );
  });

  it('that somebody still has are held, whatever is collected', async () => {
    const app = await start(options());
    const lease = await app.provider(RateLimiter).acquire('user', 'slots');
    await takeAndForget(app);
    await untilHeld(app, 1);
    for (let i = 0; i < 5; i++) {
      collectGarbage();
      await new Promise(setImmediate);
    }
    expect(await held(app)).toBe(1);
    expect(lease.held).toBeDefined();
    await lease.release();
    expect(await held(app)).toBe(0);
  });
});

describe('leases of code', () => {
  it('that were released are not released again when they are collected', async () => {
    const store = new CountingStore(new FakeClock());
    const app = await start({ store });
    const limiter = app.provider(RateLimiter);
    await (async () => {
      for (let i = 0; i < 100; i++) await (await limiter.acquire('user', 'slots')).release();
      for (let i = 0; i < 5; i++) await limiter.acquire('user', 'ten');
    })();
    await takeAndForget(app);
    await untilHeld(app, 0);
    expect(store.releases).toBe(101);
    expect(warningsOf(app)).toHaveLength(1);
  });

  it('that were booked ahead are found as well', async () => {
    const app = await start();
    const limiter = app.provider(RateLimiter);
    await (async () => {
      await limiter.reserve('user', ['ten', 'slots'], { maxWaitMs: 1_000 });
    })();
    expect(await held(app)).toBe(1);
    await untilHeld(app, 0);
    expect(warningsOf(app)).toHaveLength(1);
  });

  it('are looked at again once one was forgotten at a place that was not noted', async () => {
    const app = await start();
    const limiter = app.provider(RateLimiter);
    for (let i = 0; i < 1_000; i++) await (await limiter.acquire('user', 'slots')).release();
    await takeAndForget(app);
    await untilHeld(app, 0);
    await takeAndForget(app);
    await untilHeld(app, 0);
    const [first, second] = warningsOf(app);
    expect(first).toContain('A lease, at a place that was not noted, plan "slots"');
    expect(second).toContain('forgotten-leases.spec.ts:48:');
  });

  it('are released without a word where diagnostics are off', async () => {
    const app = await start({ diagnostics: false });
    await takeAndForget(app);
    await untilHeld(app, 0);
    expect(app.logs.warnings).toEqual([]);
  });

  it('leave the depth of stacks as it was', async () => {
    const before = Error.stackTraceLimit;
    await takeAndForget(await start());
    expect(Error.stackTraceLimit).toBe(before);
  });
});
