import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { NEVER } from '../../lib/core/counter.js';
import { definePlan } from '../../lib/core/define-plan.js';
import type { TokenBucketPlan } from '../../lib/core/plan.js';
import type { Spent } from '../../lib/core/spent.js';
import { TokenBucket } from '../../lib/core/token-bucket.js';

const RUNS = Number(process.env.FAST_CHECK_RUNS ?? 300);
const START_US = 5_000_000;
const TEN_YEARS_S = 3_650 * 86_400;
const TOKEN_US = 100_000;

const planOf = (capacity: number, tokensPerSecond: number) =>
  definePlan('bucket', { capacity, tokensPerSecond }) as TokenBucketPlan;

/** Five tokens, one every 100 ms. */
const PLAN = planOf(5, 10);

function spent(tokens: number, plan = PLAN): TokenBucket {
  const bucket = new TokenBucket(plan, START_US);
  bucket.charge(plan, tokens, START_US);
  return bucket;
}

/** Tokens of which nobody knows when they were spent. */
const credit = (tokens: number) => ({ tokens, atUs: undefined, wholeUs: 0 });

describe('a token bucket', () => {
  it('is full at first', () => {
    const bucket = new TokenBucket(PLAN, START_US);
    expect(bucket.remaining(PLAN, START_US)).toBe(5);
    expect(bucket.resetUs(PLAN, START_US)).toBe(0);
    expect(bucket.waitUs(PLAN, 5, START_US)).toBe(0);
  });

  it.each([
    { spends: 0, cost: 5, waitUs: 0 },
    { spends: 1, cost: 5, waitUs: TOKEN_US },
    { spends: 5, cost: 1, waitUs: TOKEN_US },
    { spends: 5, cost: 5, waitUs: 5 * TOKEN_US },
    { spends: 8, cost: 1, waitUs: 4 * TOKEN_US },
    { spends: 5, cost: 6, waitUs: NEVER },
    { spends: 0, cost: 6, waitUs: NEVER },
  ])('after $spends tokens admits $cost in $waitUs µs', ({ spends, cost, waitUs }) => {
    expect(spent(spends).waitUs(PLAN, cost, START_US)).toBe(waitUs);
  });

  it('needs less of a wait the more of it has passed', () => {
    const bucket = spent(5);
    const waits = [0, 1, 50_000, 99_999, 100_000, 100_001].map((us) =>
      bucket.waitUs(PLAN, 1, START_US + us),
    );
    expect(waits).toEqual([100_000, 99_999, 50_000, 1, 0, 0]);
  });

  it('counts whole tokens in what remains, and none below zero', () => {
    const bucket = spent(7);
    const left = [0, 199_999, 299_999, 300_000, 400_000, 700_000, 9_000_000].map((us) =>
      bucket.remaining(PLAN, START_US + us),
    );
    expect(left).toEqual([0, 0, 0, 1, 2, 5, 5]);
  });

  it('tells when it will be full', () => {
    const bucket = spent(7);
    expect([0, 1, 699_999, 700_000].map((us) => bucket.resetUs(PLAN, START_US + us))).toEqual([
      700_000, 699_999, 1, 0,
    ]);
  });

  it('changes nothing when it is asked', () => {
    const bucket = spent(5);
    for (let us = 0; us < 1_000_000; us += 99_991) {
      bucket.waitUs(PLAN, 3, START_US + us);
      bucket.remaining(PLAN, START_US + us);
      bucket.resetUs(PLAN, START_US + us);
    }
    expect(bucket.waitUs(PLAN, 1, START_US)).toBe(TOKEN_US);
  });

  it('puts tokens back up to the capacity', () => {
    const bucket = spent(3);
    bucket.refund(PLAN, credit(1), START_US);
    expect(bucket.remaining(PLAN, START_US)).toBe(3);
    bucket.refund(PLAN, credit(100), START_US);
    expect(bucket.remaining(PLAN, START_US)).toBe(5);
    bucket.charge(PLAN, 5, START_US);
    expect(bucket.waitUs(PLAN, 1, START_US)).toBe(TOKEN_US);
  });

  it('refills nothing when the time it is told lies before the last', () => {
    const bucket = spent(5);
    expect(bucket.remaining(PLAN, START_US - 9_000_000)).toBe(0);
    bucket.refund(PLAN, credit(1), START_US - 9_000_000);
    expect(bucket.remaining(PLAN, START_US)).toBe(1);
  });

  it('pays back what the tolerance lends, so that nothing drifts', () => {
    const plan = planOf(1, 3);
    const bucket = spent(1, plan);
    let nowUs = START_US;
    for (let turn = 0; turn < 3_000; turn++) {
      nowUs += bucket.waitUs(plan, 1, nowUs);
      bucket.charge(plan, 1, nowUs);
    }
    // A thousand seconds, and each turn rounded up by less than a microsecond.
    expect(nowUs - START_US).toBeGreaterThanOrEqual(1_000_000_000);
    expect(nowUs - START_US).toBeLessThanOrEqual(1_000_003_000);
  });

  it.each([0.1, 0.3, 0.7, 3, 7, 9.9, 33.3, 1_000 / 3, 12_345.678])(
    'admits after exactly its wait at %d tokens per second, and not before',
    (tokensPerSecond) => {
      const plan = planOf(10, tokensPerSecond);
      const bucket = spent(10, plan);
      let nowUs = START_US;
      for (let turn = 1; turn <= 200; turn++) {
        const cost = 1 + (turn % 10);
        const waitUs = bucket.waitUs(plan, cost, nowUs);
        expect(bucket.waitUs(plan, cost, nowUs + waitUs - 1)).toBe(1);
        expect(bucket.waitUs(plan, cost, nowUs + waitUs)).toBe(0);
        nowUs += waitUs + (turn % 3);
        bucket.charge(plan, cost, nowUs);
      }
    },
  );

  it('admits after exactly its wait whatever its size and rate', () => {
    const size = fc
      .integer({ min: 0, max: 12 })
      .chain((zeros) => fc.integer({ min: 1, max: 10 ** zeros }));
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    const seconds = fc.oneof(
      fc.double({ min: 1e-6, max: 10, noNaN: true }),
      fc.integer({ min: 1, max: TEN_YEARS_S }),
    );
    const honest = fc.property(size, share, share, seconds, (capacity, part, gone, fillS) => {
      const plan = planOf(capacity, capacity / fillS);
      const bucket = spent(capacity, plan);
      const nowUs = START_US + Math.floor(fillS * gone * 1e6);
      const cost = Math.max(1, Math.round(capacity * part));
      const waitUs = bucket.waitUs(plan, cost, nowUs);
      expect(bucket.waitUs(plan, cost, nowUs + waitUs)).toBe(0);
      if (waitUs > 0) expect(bucket.waitUs(plan, cost, nowUs + waitUs - 1)).toBe(1);
    });
    fc.assert(honest, { numRuns: 5 * RUNS });
  });

  it('admits after exactly its wait where rounding would tell a microsecond too many', () => {
    const plan = planOf(1_000_000_000, 1_000_000_000 / 3_600);
    const bucket = spent(428_767_400, plan);
    for (let cost = 584_586_955; cost < 984_586_955; cost += 1_234_567) {
      const waitUs = bucket.waitUs(plan, cost, START_US);
      expect(bucket.waitUs(plan, cost, START_US + waitUs - 1)).toBe(1);
      expect(bucket.waitUs(plan, cost, START_US + waitUs)).toBe(0);
    }
  });

  it('works at any rate that a plan may have', () => {
    const fast = planOf(1_000_000_000_000, Number.MAX_VALUE);
    const full = spent(1_000_000_000_000, fast);
    expect(full.waitUs(fast, 1_000_000_000_000, START_US)).toBe(1);
    const slow = planOf(1, 1 / TEN_YEARS_S);
    const empty = spent(1, slow);
    const waitUs = empty.waitUs(slow, 1, START_US);
    expect(waitUs).toBeGreaterThan(3_649.99 * 86_400e6);
    expect(empty.waitUs(slow, 1, START_US + waitUs - 1)).toBe(1);
    expect(empty.waitUs(slow, 1, START_US + waitUs)).toBe(0);
  });
});

describe('a token bucket whose plan changes', () => {
  it('keeps its tokens up to the new capacity', () => {
    const bucket = spent(1, planOf(10, 10));
    expect(bucket.remaining(PLAN, START_US)).toBe(5);
    expect(bucket.resetUs(PLAN, START_US)).toBe(0);
    bucket.charge(PLAN, 5, START_US);
    expect(bucket.remaining(planOf(10, 10), START_US)).toBe(0);
  });

  it('gets none for free when the capacity grows', () => {
    const bucket = spent(2);
    expect(bucket.remaining(planOf(100, 10), START_US)).toBe(3);
    bucket.refund(PLAN, credit(50), START_US);
    expect(bucket.remaining(planOf(100, 10), START_US)).toBe(5);
  });

  it('refills at the new rate', () => {
    expect(spent(5).waitUs(planOf(5, 1), 1, START_US)).toBe(1_000_000);
    expect(spent(5).waitUs(planOf(5, 100), 1, START_US)).toBe(10_000);
  });
});

describe('a refund to a token bucket', () => {
  /** Spends at a time, in tokens' worth of refill, and remembers what has to be known to give it back. */
  function take(bucket: TokenBucket, tokens: number, at: number): Spent {
    const atUs = START_US + at * TOKEN_US;
    expect(bucket.waitUs(PLAN, tokens, atUs)).toBe(0);
    bucket.charge(PLAN, tokens, atUs);
    return { tokens, atUs, wholeUs: atUs + bucket.resetUs(PLAN, atUs) };
  }
  const giveBack = (bucket: TokenBucket, spent: Spent, at: number) =>
    bucket.refund(PLAN, spent, START_US + at * TOKEN_US);
  const left = (bucket: TokenBucket, at: number) => bucket.level(PLAN, START_US + at * TOKEN_US);

  it('does not bring what has been refilled already', () => {
    const bucket = new TokenBucket(PLAN, START_US);
    const early = take(bucket, 1, 0);
    take(bucket, 5, 10);
    expect(giveBack(bucket, early, 10)).toBe(false);
    expect(left(bucket, 10)).toBe(0);
  });

  it('brings the part that has not been refilled', () => {
    const bucket = new TokenBucket(PLAN, START_US);
    const early = take(bucket, 4, 0);
    take(bucket, 2, 3);
    giveBack(bucket, early, 3);
    expect(left(bucket, 3)).toBe(3);
  });

  it('is whole where the bucket was never full meanwhile', () => {
    const bucket = new TokenBucket(PLAN, START_US);
    take(bucket, 4, 0);
    const late = take(bucket, 1, 0);
    giveBack(bucket, late, 3);
    expect(left(bucket, 3)).toBe(4);
  });

  it('leaves out what came back by other refunds, after which the bucket was full earlier', () => {
    const bucket = new TokenBucket(PLAN, START_US);
    const [one, other] = [take(bucket, 1, 0), take(bucket, 1, 0)];
    giveBack(bucket, one, 0);
    take(bucket, 5, 1);
    expect(giveBack(bucket, other, 1.5)).toBe(false);
    expect(left(bucket, 1.5)).toBeCloseTo(0.5, 9);
  });

  it('is whole for each of many that are held at the same time, once enough is spent', () => {
    const large = planOf(1_000, 10);
    const bucket = new TokenBucket(large, START_US);
    bucket.charge(large, 500, START_US);
    const held: Spent[] = [];
    for (let i = 0; i < 200; i++) {
      const atUs = START_US + i * 20_000;
      bucket.charge(large, 1, atUs);
      held.push({ tokens: 1, atUs, wholeUs: atUs + bucket.resetUs(large, atUs) });
      if (i >= 20) bucket.refund(large, held[i - 20]!, atUs);
    }
    // 500, and twenty under way, less what was refilled in four seconds.
    const endUs = START_US + 200 * 20_000;
    expect(bucket.level(large, endUs)).toBeCloseTo(1_000 - 500 - 20 + 40, 3);
  });
});

describe('a cancelled turn of a token bucket', () => {
  /** Books turns one behind the other and tells when each is due. */
  function queue(...costs: readonly number[]) {
    const bucket = spent(5);
    const turns = costs.map((tokens) => {
      const dueUs = START_US + bucket.waitUs(PLAN, tokens, START_US);
      bucket.charge(PLAN, tokens, START_US);
      const wholeUs = START_US + bucket.resetUs(PLAN, START_US);
      return { dueUs, charge: { tokens, atUs: START_US, wholeUs } };
    });
    const cancel = (turn: number, nowUs: number) =>
      bucket.cancel(PLAN, turns[turn]!.charge, turns[turn]!.dueUs, nowUs);
    return { bucket, cancel };
  }

  it('comes back in full when it is the last', () => {
    const { bucket, cancel } = queue(2, 3);
    cancel(1, START_US);
    expect(bucket.waitUs(PLAN, 1, START_US)).toBe(3 * TOKEN_US);
  });

  it('comes back in full when it is the last, some time later', () => {
    const { bucket, cancel } = queue(2, 3);
    cancel(1, START_US + 150_000);
    expect(bucket.waitUs(PLAN, 1, START_US + 150_000)).toBe(150_000);
  });

  it('does not come back when as much was booked behind it', () => {
    const { bucket, cancel } = queue(2, 2);
    cancel(0, START_US);
    expect(bucket.waitUs(PLAN, 1, START_US)).toBe(5 * TOKEN_US);
  });

  it('does not come back when more was booked behind it', () => {
    const { bucket, cancel } = queue(1, 4);
    cancel(0, START_US);
    expect(bucket.waitUs(PLAN, 1, START_US)).toBe(6 * TOKEN_US);
  });

  it('gives back no more than what is not built upon', () => {
    const { bucket, cancel } = queue(5, 1);
    cancel(0, START_US);
    // Six tokens are owed; of the five, one stays with the turn behind.
    expect(bucket.waitUs(PLAN, 1, START_US)).toBeGreaterThanOrEqual(3 * TOKEN_US);
    expect(bucket.waitUs(PLAN, 1, START_US)).toBeLessThanOrEqual(7 * TOKEN_US);
  });

  it('never takes anything away', () => {
    const { bucket } = queue(1, 1);
    bucket.cancel(PLAN, { tokens: 1, atUs: 0, wholeUs: 0 }, START_US - 9_000_000, START_US);
    expect(bucket.waitUs(PLAN, 1, START_US)).toBe(3 * TOKEN_US);
  });

  it('does not come back for the time that has passed since it was due', () => {
    const bucket = spent(4);
    const charge = { tokens: 4, atUs: START_US, wholeUs: START_US + 4 * TOKEN_US };
    const later = START_US + 3 * TOKEN_US;
    bucket.charge(PLAN, 4, later);
    bucket.cancel(PLAN, charge, START_US, later);
    // Three of the four have come back by themselves.
    expect(bucket.remaining(PLAN, later)).toBe(1);
  });

  it('comes back whole after its time, where the bucket was never full since', () => {
    const large = planOf(10, 1);
    const bucket = new TokenBucket(large, START_US);
    bucket.charge(large, 10, START_US);
    const dueUs = START_US + bucket.waitUs(large, 5, START_US);
    bucket.charge(large, 5, START_US);
    const wholeUs = START_US + bucket.resetUs(large, START_US);
    // Eight seconds: three tokens, and the five of the turn that was not used.
    const later = START_US + 8_000_000;
    bucket.cancel(large, { tokens: 5, atUs: START_US, wholeUs }, dueUs, later);
    expect(bucket.remaining(large, later)).toBe(8);
  });

  it('never fills the bucket above its capacity', () => {
    const bucket = spent(1);
    const charge = { tokens: 5, atUs: START_US, wholeUs: START_US + 5 * TOKEN_US };
    bucket.cancel(PLAN, charge, START_US, START_US);
    expect(bucket.remaining(PLAN, START_US)).toBe(5);
    bucket.charge(PLAN, 5, START_US);
    expect(bucket.waitUs(PLAN, 1, START_US)).toBe(TOKEN_US);
  });
});
