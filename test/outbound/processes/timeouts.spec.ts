import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Callers } from './callers.js';
import { overshootOf, permitsOf } from './outcome.js';

const RULE = { requestsPerSecond: 100, burstCapacity: 10 };
const PROCESSES = 3;
const TIMEOUT_MS = 400;
const IMPATIENT = { calls: 1_000, timeoutMs: TIMEOUT_MS, abortShare: 0.2, abortWithinMs: 300 };

/** Keeps the server from answering anybody for so many microseconds. */
const STALL = `
  local function now() local time = redis.call('TIME') return time[1] * 1000000 + time[2] end
  local till = now() + tonumber(ARGV[1])
  while now() < till do end`;

describe('three busy processes that wait no longer than 400 ms', () => {
  let callers: Callers;

  beforeAll(async () => {
    callers = await Callers.start(PROCESSES, { default: RULE });
    await callers.call({ domain: 'warm.example', calls: 5 });
  }, 60_000);

  afterAll(() => callers.end());

  it.each([0, 50_000, 250_000])(
    'get no permit later than that when Redis stalls for %d µs again and again',
    async (stallUs) => {
      const domain = `stall-${stallUs}.example`;
      let isOver = false;
      const stall = async () => {
        while (!isOver && stallUs > 0) await callers.admin.eval(STALL, 0, stallUs);
      };
      const stalling = stall();
      const { outcomes, lateMs } = await callers.call({ ...IMPATIENT, domain });
      isOver = true;
      await stalling;
      const permits = permitsOf(outcomes);
      expect(Math.max(0, ...permits.map(({ waitedMs }) => waitedMs))).toBeLessThanOrEqual(
        TIMEOUT_MS,
      );
      const refusals = new Set(outcomes.map(({ error }) => error ?? 'none'));
      refusals.delete('none');
      expect([...refusals].sort()).toEqual(['WaitAbortedError', 'WaitTimedOutError']);
      expect(outcomes).toHaveLength(PROCESSES * IMPATIENT.calls);
      // A turn that is used late comes closer to the one behind it: by what was measured, no more.
      const lateTokens = (RULE.requestsPerSecond * lateMs) / 1_000;
      if (permits.length > 0) expect(overshootOf(permits, RULE)).toBeLessThanOrEqual(lateTokens);
      // What was booked for those who have gone is nobody's debt.
      const [next] = (await callers.call({ domain, calls: 1 })).outcomes;
      expect(next!.error).toBeNull();
      expect(next!.waitedMs).toBeLessThan(TIMEOUT_MS + 1_000);
    },
    60_000,
  );
});
