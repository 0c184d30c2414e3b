import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { NEVER } from '../../lib/core/counter.js';
import { definePlan, MAX_PERIOD_MS, MAX_QUOTA } from '../../lib/core/define-plan.js';
import type { SlidingWindowPlan } from '../../lib/core/plan.js';
import { SlidingWindow } from '../../lib/core/sliding-window.js';

const RUNS = Number(process.env.FAST_CHECK_RUNS ?? 300);
const START_US = 5_000_000;

const planOf = (limit: number, windowMs: number) =>
  definePlan('window', { limit, windowMs }) as SlidingWindowPlan;

/** Ten in a second. */
const PLAN = planOf(10, 1_000);

/** Spends `tokens` at each of these times, counted from the start. */
function spent(...charges: readonly (readonly [us: number, tokens: number])[]): SlidingWindow {
  const window = new SlidingWindow(PLAN, START_US);
  for (const [us, tokens] of charges) window.charge(PLAN, tokens, START_US + us);
  return window;
}

describe('a sliding window', () => {
  it('is empty at first', () => {
    const window = new SlidingWindow(PLAN, START_US);
    expect(window.remaining(PLAN, START_US)).toBe(10);
    expect(window.resetUs(PLAN, START_US)).toBe(0);
    expect(window.waitUs(PLAN, 10, START_US)).toBe(0);
    expect(window.waitUs(PLAN, 11, START_US)).toBe(NEVER);
  });

  it.each([
    // All of the current window counts, then the share of it that the last second still overlaps.
    { charges: [[0, 10]], left: [0, 0, 0, 2, 5, 9, 10, 10] },
    { charges: [[0, 4]], left: [6, 6, 6, 7, 8, 9, 10, 10] },
    {
      charges: [
        [0, 4],
        [999_999, 6],
      ],
      left: [0, 0, 0, 2, 5, 9, 10, 10],
    },
  ] as const)('of $charges leaves $left', ({ charges, left }) => {
    const window = spent(...charges);
    const at = [999_999, 999_999, 1_000_000, 1_250_000, 1_500_000, 1_999_999, 2_000_000, 9e6];
    expect(at.map((us) => window.remaining(PLAN, START_US + us))).toEqual(left);
  });

  it('adds what is spent now to what has not faded yet', () => {
    const window = spent([0, 8], [1_250_000, 4]);
    // Six of the eight and all of the four, then four and four, then none and four.
    const at = [1_250_000, 1_500_000, 1_999_999, 2_000_000, 2_500_000, 3_000_000];
    expect(at.map((us) => window.remaining(PLAN, START_US + us))).toEqual([0, 2, 5, 6, 8, 10]);
  });

  it.each([
    // The previous window only has to fade.
    { charges: [[0, 10]], at: 1_000_000, cost: 1, waitUs: 100_000 },
    { charges: [[0, 10]], at: 1_500_000, cost: 6, waitUs: 100_000 },
    { charges: [[0, 10]], at: 1_500_000, cost: 10, waitUs: 500_000 },
    {
      charges: [
        [0, 10],
        [1_500_000, 5],
      ],
      at: 1_500_000,
      cost: 3,
      waitUs: 300_000,
    },
    // The current one has to become the previous one first.
    { charges: [[0, 10]], at: 0, cost: 1, waitUs: 1_100_000 },
    { charges: [[0, 10]], at: 999_999, cost: 1, waitUs: 100_001 },
    { charges: [[0, 10]], at: 0, cost: 10, waitUs: 2_000_000 },
    { charges: [[0, 7]], at: 0, cost: 4, waitUs: 1_142_858 },
    {
      charges: [
        [0, 10],
        [1_500_000, 5],
      ],
      at: 1_500_000,
      cost: 6,
      waitUs: 700_000,
    },
    { charges: [[0, 10]], at: 0, cost: 11, waitUs: NEVER },
    { charges: [[0, 10]], at: 1_500_000, cost: 5, waitUs: 0 },
  ] as const)('of $charges admits $cost at $at µs after $waitUs µs', (row) => {
    const window = spent(...row.charges);
    const nowUs = START_US + row.at;
    expect(window.waitUs(PLAN, row.cost, nowUs)).toBe(row.waitUs);
  });

  it('admits after exactly its wait, and not before', () => {
    for (const limit of [1, 3, 7, 10, 99]) {
      const plan = planOf(limit, 777);
      const window = new SlidingWindow(plan, START_US);
      let nowUs = START_US;
      for (let turn = 0; turn < 200; turn++) {
        const cost = 1 + (turn % limit);
        const waitUs = window.waitUs(plan, cost, nowUs);
        if (waitUs > 0) expect(window.waitUs(plan, cost, nowUs + waitUs - 1)).toBe(1);
        expect(window.waitUs(plan, cost, nowUs + waitUs)).toBe(0);
        nowUs += waitUs + ((turn * 7_919) % 100_000);
        window.charge(plan, cost, nowUs);
      }
    }
  });

  it('admits after exactly its wait whatever its size', () => {
    const upTo = (max: number) =>
      fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max }));
    const plans = fc.record({ limit: upTo(MAX_QUOTA), windowMs: upTo(MAX_PERIOD_MS) });
    const share = fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true }));
    const shares = fc.tuple(share, share, share, share, share);
    const honest = fc.property(plans, shares, (definition, [before, now, next, early, late]) => {
      const plan = planOf(definition.limit, definition.windowMs);
      const tokens = (part: number) => Math.max(1, Math.round(plan.quota * part));
      const window = new SlidingWindow(plan, START_US);
      window.charge(plan, tokens(before), START_US);
      let nowUs = START_US + Math.floor((1 + early) * plan.windowUs);
      if (window.waitUs(plan, tokens(now), nowUs) === 0) window.charge(plan, tokens(now), nowUs);
      nowUs += Math.floor((1 - early) * late * plan.windowUs);
      const waitUs = window.waitUs(plan, tokens(next), nowUs);
      expect(window.waitUs(plan, tokens(next), nowUs + waitUs)).toBe(0);
      if (waitUs > 0) expect(window.waitUs(plan, tokens(next), nowUs + waitUs - 1)).toBe(1);
    });
    fc.assert(honest, { numRuns: 10 * RUNS });
  });

  it('answers at once when little is left to fade below a large limit', () => {
    const plan = planOf(MAX_QUOTA, 30 * 86_400_000);
    const window = new SlidingWindow(plan, START_US);
    window.charge(plan, 1, START_US);
    const nowUs = START_US + plan.windowUs;
    window.charge(plan, MAX_QUOTA - 2, nowUs);
    const waitUs = window.waitUs(plan, 2, nowUs);
    // One token fades in a window, but for a billionth of it.
    expect(waitUs / plan.windowUs).toBeCloseTo(1, 6);
    expect(window.waitUs(plan, 2, nowUs + waitUs - 1)).toBe(1);
    expect(window.waitUs(plan, 2, nowUs + waitUs)).toBe(0);
    expect(window.remaining(plan, nowUs)).toBe(1);
    expect(window.remaining(plan, nowUs + waitUs)).toBe(2);
  });

  it('tells when nothing is left of what was spent', () => {
    const window = spent([0, 3], [1_300_000, 2]);
    const at = [1_300_000, 1_999_999, 2_000_000, 2_999_999, 3_000_000, 9_000_000];
    expect(at.map((us) => window.resetUs(PLAN, START_US + us))).toEqual([
      1_700_000, 1_000_001, 1_000_000, 1, 0, 0,
    ]);
  });

  it('starts anew with the next request after two windows', () => {
    const window = spent([0, 10], [2_345_678, 10]);
    expect(window.waitUs(PLAN, 1, START_US + 2_345_678)).toBe(1_100_000);
    expect(window.resetUs(PLAN, START_US + 2_345_678)).toBe(2_000_000);
  });

  it('changes nothing when it is asked', () => {
    const window = spent([0, 10]);
    for (let us = 0; us < 5_000_000; us += 99_991) {
      window.waitUs(PLAN, 3, START_US + us);
      window.remaining(PLAN, START_US + us);
      window.resetUs(PLAN, START_US + us);
    }
    expect(window.waitUs(PLAN, 1, START_US)).toBe(1_100_000);
  });

  it('counts in full what was spent after the time it is told', () => {
    expect(spent([0, 4]).remaining(PLAN, START_US - 1_000)).toBe(6);
  });
});

/** Tokens of which nobody knows when they were spent. */
const credit = (tokens: number) => ({ tokens, atUs: undefined, wholeUs: 0 });

describe('a refund to a sliding window', () => {
  it('comes from the current window first', () => {
    const window = spent([0, 10], [1_500_000, 5]);
    window.refund(PLAN, credit(2), START_US + 1_500_000);
    expect(window.remaining(PLAN, START_US + 1_500_000)).toBe(2);
    expect(window.remaining(PLAN, START_US + 2_000_000)).toBe(7);
  });

  it('comes from the previous window when the current one does not hold it', () => {
    const window = spent([0, 10], [1_500_000, 2]);
    window.refund(PLAN, credit(6), START_US + 1_500_000);
    expect(window.remaining(PLAN, START_US + 1_500_000)).toBe(7);
  });

  it.each([
    { spentAt: 1_200_000, atUs: 1_500_000, left: 3, why: 'is the current one' },
    { spentAt: 200_000, atUs: 1_500_000, left: 2, why: 'fades' },
    { spentAt: 200_000, atUs: 2_000_000, left: 5, why: 'has faded' },
  ])('comes from the window that it was counted in, which $why', ({ spentAt, atUs, left }) => {
    const window = spent([0, 8], [1_200_000, 4]);
    window.charge(PLAN, 1, START_US + 1_400_000);
    const back = { tokens: 2, atUs: START_US + spentAt, wholeUs: 0 };
    expect(window.refund(PLAN, back, START_US + atUs)).toBe(atUs < 2_000_000);
    expect(window.remaining(PLAN, START_US + atUs)).toBe(left);
  });

  it('leaves nothing below zero', () => {
    const window = spent([0, 4], [1_500_000, 2]);
    window.refund(PLAN, credit(100), START_US + 1_500_000);
    expect(window.remaining(PLAN, START_US + 1_500_000)).toBe(10);
    expect(window.waitUs(PLAN, 11, START_US + 1_500_000)).toBe(NEVER);
    window.charge(PLAN, 10, START_US + 1_500_000);
    expect(window.remaining(PLAN, START_US + 1_500_000)).toBe(0);
  });
});

describe('a sliding window whose plan changes', () => {
  it('keeps what it has counted', () => {
    const window = spent([0, 6]);
    expect(window.remaining(planOf(8, 1_000), START_US)).toBe(2);
    expect(window.remaining(planOf(4, 1_000), START_US)).toBe(0);
    expect(window.waitUs(planOf(4, 1_000), 1, START_US)).toBe(1_500_000);
    expect(window.waitUs(planOf(4, 1_000), 4, START_US)).toBe(2_000_000);
  });

  it('fades in the new length', () => {
    const window = spent([0, 10]);
    expect(window.waitUs(planOf(10, 2_000), 1, START_US)).toBe(2_200_000);
    expect(window.remaining(planOf(10, 500), START_US + 750_000)).toBe(5);
    expect(window.remaining(planOf(10, 500), START_US + 1_000_000)).toBe(10);
  });
});
