import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Called } from './callers.js';
import { Callers } from './callers.js';
import type { Outcome } from './outcome.js';
import { orderOf, overshootOf, permitsOf, rateOf } from './outcome.js';

const RULE = { requestsPerSecond: 50, burstCapacity: 5 };
const PROCESSES = 4;
const CALLS = 50;

describe('four processes that wait for one domain', () => {
  let callers: Callers;
  let called: Called;
  let permits: Outcome[];
  let storeCalls: number;

  beforeAll(async () => {
    callers = await Callers.start(PROCESSES, { default: RULE });
    await callers.call({ domain: 'warm.example', calls: 5 });
    await callers.forgetStoreCalls();
    called = await callers.call({ domain: 'site.example', calls: CALLS });
    storeCalls = await callers.storeCalls();
    permits = permitsOf(called.outcomes);
  }, 60_000);

  afterAll(() => callers.end());

  it('all get a permit', () => {
    expect(called.outcomes.filter(({ error }) => error !== null)).toEqual([]);
    expect(permits).toHaveLength(PROCESSES * CALLS);
  });

  it('are let go at the rate', () => {
    expect(rateOf(permits, RULE, called.lateMs)).toBeGreaterThanOrEqual(49);
    expect(rateOf(permits, RULE, -called.lateMs)).toBeLessThanOrEqual(51);
  });

  it('never exceed rate and burst in any interval', () => {
    // A turn that is used late comes closer to the one behind it: by what was measured, no more.
    const lateTokens = (RULE.requestsPerSecond * called.lateMs) / 1_000;
    expect(overshootOf(permits, RULE)).toBeLessThanOrEqual(lateTokens);
  });

  it('keep the order of arrival inside each process', () => {
    const inOrder = Array.from({ length: CALLS }, (_, index) => index);
    for (let process = 0; process < PROCESSES; process++) {
      expect(orderOf(permits, process)).toEqual(inOrder);
    }
  });

  it('ask Redis once for five permits at most', () => {
    expect(storeCalls).toBeLessThanOrEqual((PROCESSES * CALLS) / 5);
  });
});
