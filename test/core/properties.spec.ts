import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { definePlan } from '../../lib/core/define-plan.js';
import type { Decision, Limit } from '../../lib/core/limit-store.js';
import type { Plan, TokenBucketPlan } from '../../lib/core/plan.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { FakeClock } from '../support/fake-clock.js';
import type { ExactAnswer } from '../support/reference-model.js';
import { ReferenceModel } from '../support/reference-model.js';

/** Raise it to search longer: FAST_CHECK_RUNS=10000 npm test -- test/core/properties */
const RUNS = Number(process.env.FAST_CHECK_RUNS ?? 300);

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

const bucketPlan = (name: string) =>
  fc.oneof(
    fc
      .tuple(between(1, MAX_QUOTA), periodMs)
      .map(([tokens, ms]) => definePlan(name, `${tokens}/${ms}ms`)),
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

const concurrencyPlan = (name: string) =>
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
const fraction = fc.oneof(
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
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const world = fc.record({
  plans: fc.tuple(anyPlan('p0'), anyPlan('p1'), anyPlan('p2'), anyPlan('p3')),
  steps: fc.array(step, { minLength: 10, maxLength: 40 }),
});

/** A store on a clock of its own, asked one step after the other. */
class Simulation {
  readonly clock = new FakeClock();
  readonly store = new MemoryStore(this.clock);
  #leases = 0;
  #lastWaitUs = 0;

  constructor(readonly plans: readonly Plan[]) {}

  limitsOf({ plans, key, share, excess }: Step): Limit[] {
    return plans.map((index) => {
      const plan = this.plans[index]!;
      return { plan, key, cost: costOf(plan, share) + (excess ? plan.quota : 0) };
    });
  }

  pauseBefore({ pause, plans }: Step): void {
    const us = lengthUs(this.plans[plans[0]!]!);
    const whole = { nothing: 0, period: us, wait: this.#lastWaitUs, long: 3 * us }[pause.of];
    this.clock.advanceUs(Math.floor(whole * pause.share));
  }

  decide(limits: readonly Limit[], mode: 'take' | 'peek'): Decision & { leaseId: string } {
    const leaseId = `lease-${this.#leases++}`;
    const decision = this.store.decide({ limits, mode, maxWaitUs: 0, leaseId });
    this.#lastWaitUs = Number.isFinite(decision.waitUs) ? decision.waitUs : 0;
    return { ...decision, leaseId };
  }

  /** What every limit says when it is asked by itself. */
  lookAround() {
    const limits = this.plans.flatMap((plan) =>
      ['a', 'b'].map((key) => ({ plan, key, cost: costOf(plan, 0.5) })),
    );
    return limits.map((limit) => {
      const alone = { limits: [limit], mode: 'peek', maxWaitUs: 0, leaseId: '' } as const;
      const { allowed, waitUs, limits: said } = this.store.decide(alone);
      const values = said.map(({ admits, remaining, resetUs }) => [admits, remaining, resetUs]);
      return [limit.plan.name, limit.key, allowed, waitUs, ...values];
    });
  }
}

function costOf(plan: Plan, share: number): number {
  return Math.max(1, Math.round(plan.quota * share));
}

/** The time after which a limit is as good as new. */
function lengthUs(plan: Plan): number {
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

/**
 * The store says what the model says. Doubles may be off by what the model accounts for and no
 * more: at most 3e-16 of a day for each charge since the bucket was full, so that a wait that ends
 * next to a whole microsecond may be rounded to the other one.
 */
function expectSame({ allowed, waitUs, limits }: Decision, exact: ExactAnswer): void {
  limits.forEach((said, i) => {
    const { admits, earliestUs, latestUs } = exact.limits[i]!;
    const { kind } = said.limit.plan;
    const sure = earliestUs > 0 || latestUs === 0;
    expect([kind, said.admits]).toEqual([kind, sure ? admits : said.waitUs === 0]);
    expect(said.waitUs).toBeGreaterThanOrEqual(earliestUs);
    expect(said.waitUs).toBeLessThanOrEqual(latestUs);
    const widthUs = latestUs === earliestUs ? 0 : latestUs - earliestUs;
    expect(widthUs).toBeLessThanOrEqual(1);
  });
  const denials = limits.filter(({ admits, limit }) => !admits && !limit.plan.shadow);
  expect(allowed).toBe(denials.length === 0);
  expect(waitUs).toBe(Math.max(0, ...denials.map((denial) => denial.waitUs)));
}

describe('a chain of any limits', () => {
  it('is decided as exact arithmetic decides', () => {
    const sameAsModel = fc.property(world, ({ plans, steps }) => {
      const simulation = new Simulation(plans);
      const model = new ReferenceModel();
      for (const one of steps) {
        simulation.pauseBefore(one);
        const nowUs = simulation.clock.nowUs();
        const limits = simulation.limitsOf(one);
        const exact = model.peek(limits, nowUs);
        const { leaseId, ...decision } = simulation.decide(limits, one.mode);
        expectSame(decision, exact);
        if (!decision.allowed || one.mode === 'peek') continue;
        model.spend(
          limits.filter((_, i) => decision.limits[i]!.admits),
          leaseId,
          nowUs,
        );
        if (!one.release) continue;
        simulation.store.giveBack({ kind: 'release', limits, leaseId });
        for (const limit of limits) model.release(limit, leaseId);
      }
    });
    fc.assert(sameAsModel, { numRuns: RUNS });
  });

  it('is allowed after exactly the wait it was told, and not a microsecond earlier', () => {
    const honest = fc.property(world, ({ plans, steps }) => {
      const simulation = new Simulation(plans);
      for (const one of steps) {
        simulation.pauseBefore(one);
        const limits = simulation.limitsOf(one);
        const { allowed, waitUs } = simulation.decide(limits, one.mode);
        if (allowed || waitUs === Infinity) continue;
        simulation.clock.advanceUs(waitUs - 1);
        expect(simulation.decide(limits, 'peek')).toMatchObject({ allowed: false, waitUs: 1 });
        simulation.clock.advanceUs(1);
        expect(simulation.decide(limits, 'peek')).toMatchObject({ allowed: true, waitUs: 0 });
      }
    });
    fc.assert(honest, { numRuns: RUNS });
  });

  it('changes nothing when it is denied or peeked at', () => {
    const quiet = fc.property(world, ({ plans, steps }) => {
      const simulation = new Simulation(plans);
      for (const one of steps) {
        simulation.pauseBefore(one);
        const before = simulation.lookAround();
        const { allowed } = simulation.decide(simulation.limitsOf(one), one.mode);
        if (!allowed || one.mode === 'peek') expect(simulation.lookAround()).toEqual(before);
      }
    });
    fc.assert(quiet, { numRuns: RUNS });
  });
});

/** Something that was let through: how much, and when. */
interface Admission {
  readonly atUs: number;
  readonly cost: number;
}

/**
 * In no interval more than a full bucket and what comes back meanwhile. A turn that was booked is
 * told in whole microseconds: it may be rounded up by one while the next is not, and so may the turn
 * that a cancellation measures from.
 */
function expectNeverTooMany(
  plan: TokenBucketPlan,
  admissions: readonly Admission[],
  roundedUpUs = 0,
): void {
  const inOrder = [...admissions].sort((a, b) => a.atUs - b.atUs);
  inOrder.forEach((first, i) => {
    let admitted = 0;
    for (const { atUs, cost } of inOrder.slice(i)) {
      admitted += cost;
      const refilled = ((atUs - first.atUs + roundedUpUs) * plan.refill) / plan.periodUs;
      if (admitted > plan.quota + refilled + 1e-6) {
        throw new Error(`${admitted} tokens within ${atUs - first.atUs} µs`);
      }
    }
  });
}

describe('a bucket', () => {
  it('never lets more through than its capacity and its refill', () => {
    const requests = fc.array(fc.record({ share: fraction, pause: fraction }), {
      minLength: 10,
      maxLength: 60,
    });
    const bounded = fc.property(bucketPlan('bucket'), requests, (plan, steps) => {
      const simulation = new Simulation([plan]);
      const admissions: Admission[] = [];
      for (const { share, pause } of steps) {
        simulation.clock.advanceUs(Math.floor(lengthUs(plan) * pause));
        const cost = costOf(plan, share);
        const { allowed } = simulation.decide([{ plan, key: 'a', cost }], 'take');
        if (allowed) admissions.push({ atUs: simulation.clock.nowUs(), cost });
      }
      expectNeverTooMany(plan as TokenBucketPlan, admissions);
    });
    fc.assert(bounded, { numRuns: RUNS });
  });

  it('never lets more through when turns are booked ahead and some are cancelled', () => {
    // Few tokens, large and small turns next to each other, mostly at once: a crowded queue.
    const crowded = fc.integer({ min: 2, max: 8 }).map((n) => definePlan('bucket', `${n}/second`));
    const plans = fc.oneof(crowded, bucketPlan('bucket'));
    const bookings = fc.array(
      fc.record({
        share: fc.oneof(fc.constantFrom(0, 1), fraction),
        pause: fc.oneof(fc.constant(0), fc.constant(0), fraction),
        patience: fc.constantFrom(0, 1, 20, 20),
        cancels: fc.option(fc.nat(), { freq: 2 }),
      }),
      { minLength: 10, maxLength: 60 },
    );
    const bounded = fc.property(plans, bookings, (plan, steps) => {
      const { clock, store } = new Simulation([plan]);
      const booked: { decision: Decision; cost: number }[] = [];
      let cancelled = 0;
      for (const { share, pause, patience, cancels } of steps) {
        clock.advanceUs(Math.floor(lengthUs(plan) * pause));
        const cost = costOf(plan, share);
        const decision = store.decide({
          limits: [{ plan, key: 'a', cost }],
          mode: 'reserve',
          maxWaitUs: lengthUs(plan) * patience,
          leaseId: '',
        });
        if (decision.allowed) booked.push({ decision, cost });
        if (cancels === null || booked.length === 0) continue;
        const [given] = booked.splice(cancels % booked.length, 1);
        store.giveBack({ kind: 'cancel', decision: given!.decision, leaseId: '' });
        cancelled++;
      }
      const acts = booked.map(({ decision: { atUs, waitUs }, cost }) => ({
        atUs: atUs + waitUs,
        cost,
      }));
      expectNeverTooMany(plan as TokenBucketPlan, acts, 1 + cancelled);
    });
    // Cheap, and it takes many to meet cancellations that get in each other's way.
    fc.assert(bounded, { numRuns: 20 * RUNS });
  });
});

describe('a concurrency cap', () => {
  it('never lends more slots than it has, nor loses one', () => {
    const action = fc.record({
      what: fc.constantFrom('take', 'take', 'release', 'renew', 'pause'),
      lease: fc.nat(9).map((n) => `lease-${n}`),
      pause: fraction,
    });
    const actions = fc.array(action, { minLength: 10, maxLength: 80 });
    const counted = fc.property(concurrencyPlan('slots'), actions, (plan, steps) => {
      const { clock, store } = new Simulation([plan]);
      const limits = [{ plan, key: 'a', cost: 1 }];
      const endsUs = new Map<string, number>();
      const lend = (leaseId: string) => endsUs.set(leaseId, clock.nowUs() + lengthUs(plan));
      for (const { what, lease, pause } of steps) {
        if (what === 'pause') clock.advanceUs(Math.floor(lengthUs(plan) * pause));
        for (const [id, us] of endsUs) if (us <= clock.nowUs()) endsUs.delete(id);
        if (what === 'take' && !endsUs.has(lease)) {
          const { allowed } = store.decide({ limits, mode: 'take', maxWaitUs: 0, leaseId: lease });
          expect(allowed).toBe(endsUs.size < plan.quota);
          if (allowed) lend(lease);
        }
        if (what === 'release') {
          store.giveBack({ kind: 'release', limits, leaseId: lease });
          endsUs.delete(lease);
        }
        if (what === 'renew') {
          expect(store.renew([{ leaseId: lease, limits }])).toEqual([endsUs.has(lease)]);
          if (endsUs.has(lease)) lend(lease);
        }
        const seen = store.decide({ limits, mode: 'peek', maxWaitUs: 0, leaseId: '' });
        expect(seen.limits[0]!.remaining).toBe(plan.quota - endsUs.size);
      }
    });
    fc.assert(counted, { numRuns: RUNS });
  });
});
