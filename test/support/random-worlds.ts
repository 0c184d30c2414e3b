import fc from 'fast-check';
import { definePlan } from '../../lib/core/define-plan.js';
import type { Plan } from '../../lib/core/plan.js';
import type { Rate } from '../../lib/core/rate.js';

const DAY_MS = 86_400_000;
const MAX_QUOTA = 1_000_000;

/** Small numbers, round numbers, and any numbers, about as often. */
const between = (min: number, max: number) =>
  fc.oneof(
    fc.integer({ min, max: Math.min(max, min + 9) }),
    fc.integer({ min: 0, max: 6 }).map((zeros) => Math.min(max, Math.max(min, 10 ** zeros))),
    fc.integer({ min, max }),
  );

const periodMs = fc.oneof(
  fc.constantFrom(1, 7, 1_000, 60_000, 3_600_000, DAY_MS),
  between(1, DAY_MS),
);

export const bucketPlan = (name: string) =>
  fc.oneof(
    fc
      .tuple(between(1, MAX_QUOTA), periodMs)
      .map(([tokens, ms]) => definePlan(name, `${tokens}/${ms}ms` as Rate)),
    // A rate that no double can hold exactly, and that fills the bucket within a day.
    fc
      .tuple(between(1, MAX_QUOTA), periodMs)
      .map(([capacity, ms]) =>
        definePlan(name, { capacity, tokensPerSecond: (capacity * 1_000) / ms }),
      ),
  );

const windowPlan = (name: string) =>
  fc
    .tuple(between(1, MAX_QUOTA), periodMs)
    .map(([limit, windowMs]) => definePlan(name, { limit, windowMs }));

export const concurrencyPlan = (name: string) =>
  fc
    .tuple(fc.integer({ min: 1, max: 4 }), periodMs)
    .map(([maxConcurrent, leaseMs]) => definePlan(name, { maxConcurrent, leaseMs }));

const anyPlan = (name: string) =>
  fc
    .tuple(
      fc.oneof(bucketPlan(name), windowPlan(name), concurrencyPlan(name)),
      fc.nat(4).map((n) => n === 0),
    )
    .map(([plan, shadow]): Plan => ({ ...plan, shadow }));

/** A part of a whole: of a quota to spend, or of a period to wait. */
export const fraction = fc.oneof(
  fc.constantFrom(0, 1, 0.5),
  fc.double({ min: 0, max: 1, noNaN: true }),
  fc.double({ min: 0, max: 0.01, noNaN: true }),
);

/** One request: of which plans, whose, how much of each quota, and after which pause. */
const step = fc.record({
  plans: fc.subarray([0, 1, 2, 3], { minLength: 1 }),
  key: fc.constantFrom('a', 'a', 'b'),
  share: fraction,
  excess: fc.nat(19).map((n) => n === 0),
  mode: fc.constantFrom<'take' | 'peek'>('take', 'take', 'take', 'peek'),
  pause: fc.oneof(
    fc.constant({ of: 'nothing' as const, share: 0 }),
    fc.record({ of: fc.constant('period' as const), share: fraction }),
    fc.record({ of: fc.constant('wait' as const), share: fc.constantFrom(1, 0.5) }),
    fc.record({ of: fc.constant('long' as const), share: fraction }),
  ),
  release: fc.nat(3).map((n) => n === 0),
});
export type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Four plans and a sequence of requests. */
export const world = fc.record({
  plans: fc.tuple(anyPlan('p0'), anyPlan('p1'), anyPlan('p2'), anyPlan('p3')),
  steps: fc.array(step, { minLength: 10, maxLength: 40 }),
});

/** A share of the quota, one at least. */
export function costOf(plan: Plan, share: number): number {
  return Math.max(1, Math.round(plan.quota * share));
}

/** The time after which a limit is as good as new. */
export function lengthUs(plan: Plan): number {
  switch (plan.kind) {
    case 'token-bucket':
      return Math.ceil((plan.quota * plan.periodUs) / plan.refill);
    case 'sliding-window':
      return plan.windowUs;
    case 'concurrency':
      return plan.leaseUs;
    default:
      return plan;
  }
}
