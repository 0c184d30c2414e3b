import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Callers } from './callers.js';
import { overshootOf, permitsOf, rateOf } from './outcome.js';

const RULE = { requestsPerSecond: 200, burstCapacity: 20 };
const PROCESSES = 8;
const IMPATIENT = { calls: 100, abortShare: 0.3, abortWithinMs: 3_000 };

describe('eight processes of whose calls a third is aborted', () => {
  let callers: Callers;

  beforeAll(async () => {
    callers = await Callers.start(PROCESSES, { default: RULE });
    await callers.call({ domain: 'warm.example', calls: 5 });
  }, 60_000);

  afterAll(() => callers.end());

  it('use what the others leave, and never exceed rate and burst', async () => {
    const { outcomes, lateMs } = await callers.call({ ...IMPATIENT, domain: 'site.example' });
    const permits = permitsOf(outcomes);
    const failed = outcomes.filter(({ error }) => error !== null);
    expect(permits.length + failed.length).toBe(PROCESSES * IMPATIENT.calls);
    expect(failed.every(({ error }) => error === 'WaitAbortedError')).toBe(true);
    expect(failed.length).toBeGreaterThan(50);
    expect(rateOf(permits, RULE, lateMs)).toBeGreaterThanOrEqual(180);
    // A turn that is used late comes closer to the one behind it: by what was measured, no more.
    const lateTokens = (RULE.requestsPerSecond * lateMs) / 1_000;
    expect(overshootOf(permits, RULE)).toBeLessThanOrEqual(lateTokens);
  }, 60_000);
});
