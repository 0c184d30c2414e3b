import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Callers } from './callers.js';
import { overshootOf, permitsOf, rateOf } from './outcome.js';

const RULE = { requestsPerSecond: 200, burstCapacity: 20 };
const SITE = 'site.example';

describe('processes whose connection for news is cut again and again', () => {
  let callers: Callers;

  afterEach(() => callers.end());

  async function start(count: number): Promise<void> {
    callers = await Callers.start(count, { default: RULE });
    await callers.call({ domain: 'warm.example', calls: 5 });
  }

  async function cut(): Promise<number> {
    return Number(await callers.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub'));
  }

  it('live on', async () => {
    await start(4);
    const calling = callers.call({ domain: SITE, calls: 100 });
    for (let i = 0; i < 200; i++) {
      await cut();
      await pause(5);
    }
    expect(permitsOf((await calling).outcomes)).toHaveLength(400);
  }, 60_000);

  it('never exceed rate and burst, although a third of the calls is aborted', async () => {
    await start(8);
    let cuts = 0;
    const cutting = setInterval(() => void cut().then((count) => (cuts += count)), 200);
    const { outcomes, lateMs } = await callers.call({
      ...{ domain: SITE, calls: 100, abortShare: 0.3, abortWithinMs: 3_000 },
    });
    clearInterval(cutting);
    expect(cuts).toBeGreaterThanOrEqual(16);
    const permits = permitsOf(outcomes);
    // Whoever cannot hear asks before each turn, and books anew somewhat later.
    expect(rateOf(permits, RULE, lateMs)).toBeGreaterThanOrEqual(150);
    // A turn that is used late comes closer to the one behind it: by what was measured, no more.
    const lateTokens = (RULE.requestsPerSecond * lateMs) / 1_000;
    expect(overshootOf(permits, RULE)).toBeLessThanOrEqual(lateTokens);
  }, 60_000);
});
