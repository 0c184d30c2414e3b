import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { definePlan } from '../../lib/core/define-plan.js';
import type { Decision } from '../../lib/core/limit-store.js';
import type { TokenBucketPlan } from '../../lib/core/plan.js';
import type { Rate } from '../../lib/core/rate.js';
import {
  bucketPlan,
  concurrencyPlan,
  costOf,
  fraction,
  lengthUs,
  world,
} from '../support/random-worlds.js';
import type { ExactAnswer } from '../support/reference-model.js';
import { ReferenceModel } from '../support/reference-model.js';
import type { TimedStore } from '../support/simulation.js';
import { Simulation } from '../support/simulation.js';

/** How long to search for a sequence that breaks a store. */
export interface Effort {
  /** Sequences to try. */
  readonly runs: number;
  /** Sequences of bookings and cancellations to try: it takes many until they get in each other's way. */
  readonly bookingRuns: number;
  /** No further sequence is begun after that time. */
  readonly millisecondsEach: number;
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

/** What holds for every store, whatever the plans and whatever the sequence of requests. */
export function limitStoreProperties(name: string, create: () => TimedStore, effort: Effort): void {
  const timeLimit = { interruptAfterTimeLimit: effort.millisecondsEach };
  const usual = { numRuns: effort.runs, ...timeLimit };
  // The last sequence may still be under way, or be shrunk, when the time is over.
  const timeoutMs = effort.millisecondsEach + 30_000;

  describe(`${name}, asked about a chain of any limits`, () => {
    it(
      'decides as exact arithmetic does',
      async () => {
        const sameAsModel = fc.asyncProperty(world, async ({ plans, steps }) => {
          const simulation = new Simulation(create(), plans);
          const model = new ReferenceModel();
          for (const one of steps) {
            simulation.pauseBefore(one);
            const nowUs = simulation.clock.nowUs();
            const limits = simulation.limitsOf(one);
            const exact = model.peek(limits, nowUs);
            const { leaseId, ...decision } = await simulation.decide(limits, one.mode);
            expectSame(decision, exact);
            if (!decision.allowed || one.mode === 'peek') continue;
            model.spend(
              limits.filter((_, i) => decision.limits[i]!.admits),
              leaseId,
              nowUs,
            );
            if (!one.release) continue;
            await simulation.store.giveBack({ kind: 'release', limits, leaseId });
            for (const limit of limits) model.release(limit, leaseId);
          }
        });
        await fc.assert(sameAsModel, usual);
      },
      timeoutMs,
    );

    it(
      'allows it after exactly the wait it told, and not a microsecond earlier',
      async () => {
        const honest = fc.asyncProperty(world, async ({ plans, steps }) => {
          const simulation = new Simulation(create(), plans);
          for (const one of steps) {
            simulation.pauseBefore(one);
            const limits = simulation.limitsOf(one);
            const { allowed, waitUs } = await simulation.decide(limits, one.mode);
            if (allowed || waitUs === Infinity) continue;
            simulation.clock.advanceUs(waitUs - 1);
            const early = await simulation.decide(limits, 'peek');
            expect(early).toMatchObject({ allowed: false, waitUs: 1 });
            simulation.clock.advanceUs(1);
            const inTime = await simulation.decide(limits, 'peek');
            expect(inTime).toMatchObject({ allowed: true, waitUs: 0 });
          }
        });
        await fc.assert(honest, usual);
      },
      timeoutMs,
    );

    it(
      'changes nothing when it denies or is only peeked at',
      async () => {
        const quiet = fc.asyncProperty(world, async ({ plans, steps }) => {
          const simulation = new Simulation(create(), plans);
          for (const one of steps) {
            simulation.pauseBefore(one);
            const before = await simulation.lookAround();
            const { allowed } = await simulation.decide(simulation.limitsOf(one), one.mode);
            if (allowed && one.mode === 'take') continue;
            expect(await simulation.lookAround()).toEqual(before);
          }
        });
        await fc.assert(quiet, usual);
      },
      timeoutMs,
    );
  });

  describe(`${name}, asked about a bucket`, () => {
    it(
      'never lets more through than its capacity and its refill',
      async () => {
        const requests = fc.array(fc.record({ share: fraction, pause: fraction }), {
          minLength: 10,
          maxLength: 60,
        });
        const bounded = fc.asyncProperty(bucketPlan('bucket'), requests, async (plan, steps) => {
          const simulation = new Simulation(create(), [plan]);
          const admissions: Admission[] = [];
          for (const { share, pause } of steps) {
            simulation.clock.advanceUs(Math.floor(lengthUs(plan) * pause));
            const cost = costOf(plan, share);
            const { allowed } = await simulation.decide([{ plan, key: 'a', cost }], 'take');
            if (allowed) admissions.push({ atUs: simulation.clock.nowUs(), cost });
          }
          expectNeverTooMany(plan as TokenBucketPlan, admissions);
        });
        await fc.assert(bounded, usual);
      },
      timeoutMs,
    );

    it(
      'never lets more through when turns are booked ahead and some are cancelled',
      async () => {
        // Few tokens, large and small turns next to each other, mostly at once: a crowded queue.
        const crowded = fc
          .integer({ min: 2, max: 8 })
          .map((n) => definePlan('bucket', `${n}/second` as Rate));
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
        const bounded = fc.asyncProperty(plans, bookings, async (plan, steps) => {
          const simulation = new Simulation(create(), [plan]);
          const booked: { decision: Decision; cost: number }[] = [];
          let cancelled = 0;
          for (const { share, pause, patience, cancels } of steps) {
            simulation.clock.advanceUs(Math.floor(lengthUs(plan) * pause));
            const cost = costOf(plan, share);
            const maxWaitUs = lengthUs(plan) * patience;
            const limits = [{ plan, key: 'a', cost }];
            const decision = await simulation.decide(limits, 'reserve', maxWaitUs);
            if (decision.allowed) booked.push({ decision, cost });
            if (cancels === null || booked.length === 0) continue;
            const [given] = booked.splice(cancels % booked.length, 1);
            const cancel = { kind: 'cancel', decision: given!.decision, leaseId: '' } as const;
            await simulation.store.giveBack(cancel);
            cancelled++;
          }
          const acts = booked.map(({ decision: { atUs, waitUs }, cost }) => ({
            atUs: atUs + waitUs,
            cost,
          }));
          expectNeverTooMany(plan as TokenBucketPlan, acts, 1 + cancelled);
        });
        await fc.assert(bounded, { numRuns: effort.bookingRuns, ...timeLimit });
      },
      timeoutMs,
    );
  });

  describe(`${name}, asked about a concurrency cap`, () => {
    it(
      'never lends more slots than it has, nor loses one',
      async () => {
        const action = fc.record({
          what: fc.constantFrom('take', 'take', 'release', 'renew', 'pause'),
          lease: fc.nat(9).map((n) => `lease-${n}`),
          pause: fraction,
        });
        const actions = fc.array(action, { minLength: 10, maxLength: 80 });
        const counted = fc.asyncProperty(concurrencyPlan('slots'), actions, async (plan, steps) => {
          const { clock, store } = create();
          const limits = [{ plan, key: 'a', cost: 1 }];
          const ask = async (mode: 'take' | 'peek', leaseId: string) =>
            await store.decide({ limits, mode, maxWaitUs: 0, leaseId });
          const endsUs = new Map<string, number>();
          const lend = (leaseId: string) => endsUs.set(leaseId, clock.nowUs() + lengthUs(plan));
          for (const { what, lease, pause } of steps) {
            if (what === 'pause') clock.advanceUs(Math.floor(lengthUs(plan) * pause));
            for (const [id, us] of endsUs) if (us <= clock.nowUs()) endsUs.delete(id);
            if (what === 'take' && !endsUs.has(lease)) {
              const { allowed } = await ask('take', lease);
              expect(allowed).toBe(endsUs.size < plan.quota);
              if (allowed) lend(lease);
            }
            if (what === 'release') {
              await store.giveBack({ kind: 'release', limits, leaseId: lease });
              endsUs.delete(lease);
            }
            if (what === 'renew') {
              expect(await store.renew([{ leaseId: lease, limits }])).toEqual([endsUs.has(lease)]);
              if (endsUs.has(lease)) lend(lease);
            }
            const seen = await ask('peek', '');
            expect(seen.limits[0]!.remaining).toBe(plan.quota - endsUs.size);
          }
        });
        await fc.assert(counted, usual);
      },
      timeoutMs,
    );
  });
}
