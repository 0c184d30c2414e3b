import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { until } from '../support/redis-servers.js';
import type { TurnTaker } from './turn-takers.js';
import { TurnTakers } from './turn-takers.js';

/** For so long a process that died holds up the others at most. */
const HOLD_UP_MS = 5_000;

let takers: TurnTakers;

afterEach(() => takers.end());

async function waitingIn(taker: TurnTaker, count: number): Promise<void> {
  await until('the calls to wait', async () => (await taker.call('waiting')) === count);
}

for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
  it(`a process that ends by ${signal} with 300 turns booked holds nobody up`, async () => {
    takers = await TurnTakers.create({ requestsPerSecond: 1, burstCapacity: 1 });
    const [victim, asker] = [await takers.start(), await takers.start()];
    await victim.call('begin', 301);
    await waitingIn(victim, 300);
    await pause(300);
    victim.kill(signal);
    const diedMs = performance.now();
    const first = (await asker.call('allow')) as { retryAfterMs: number };
    expect(first.retryAfterMs).toBeGreaterThan(200_000);
    for (;;) {
      const { allowed } = (await asker.call('allow')) as { allowed: boolean };
      if (allowed || performance.now() - diedMs > HOLD_UP_MS + 500) break;
      await pause(50);
    }
    expect(performance.now() - diedMs).toBeLessThan(HOLD_UP_MS);
  }, 30_000);
}
