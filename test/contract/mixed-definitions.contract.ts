import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { definePlan } from '../../lib/core/define-plan.js';
import type { Inquiry, LimitStore } from '../../lib/core/limit-store.js';
import type { Plan, PlanDefinition } from '../../lib/core/plan.js';
import type { FakeClock } from '../support/fake-clock.js';
import { costOf, fraction, lengthUs } from '../support/random-worlds.js';
import type { Effort } from './limit-store.properties.js';

/** Two deployments that share what is remembered, and their clock. */
export interface TwoDeployments {
  readonly clock: FakeClock;
  readonly stores: readonly [LimitStore, LimitStore];
  /** Forgets what the real store would have forgotten by now. */
  expire(plan: Plan, key: string, passedUs: number): Promise<void> | void;
}

interface Admission {
  readonly by: number;
  readonly atUs: number;
  readonly cost: number;
}

/** One plan by two definitions, each known to one deployment, and one key. */
class Rollout {
  readonly admissions: Admission[] = [];
  #leases = 0;

  constructor(
    readonly two: TwoDeployments,
    readonly plans: readonly Plan[],
  ) {}

  async pass(us: number): Promise<void> {
    this.two.clock.advanceUs(us);
    const kinds = new Map(this.plans.map((plan) => [plan.kind === 'concurrency', plan]));
    for (const plan of kinds.values()) await this.two.expire(plan, 'a', us);
  }

  async take(by: number, cost = 1, mode: Inquiry['mode'] = 'take', maxWaitUs = 0) {
    const limits = [{ plan: this.plans[by]!, key: 'a', cost }];
    const leaseId = `lease-${this.#leases++}`;
    const store = this.two.stores[by % 2]!;
    const decision = await store.decide({ limits, mode, maxWaitUs, leaseId });
    if (decision.allowed && mode !== 'peek') {
      this.admissions.push({ by, atUs: decision.atUs + decision.waitUs, cost });
    }
    return { ...decision, leaseId, asked: limits, store };
  }

  admittedBy(by: number): number {
    return this.admissions.filter((one) => one.by === by).length;
  }
}

/** A plan as a bucket that admits no less: a window lets its limit through, and the limit per length. */
function asBucket(plan: Plan): { capacity: number; perUs: number } {
  switch (plan.kind) {
    case 'token-bucket':
      return { capacity: plan.quota, perUs: plan.refill / plan.periodUs };
    case 'sliding-window':
      return { capacity: plan.quota, perUs: plan.quota / plan.windowUs };
    default:
      throw new Error(`A ${plan.kind} plan is no bucket.`);
  }
}

/** In every interval at most what the larger capacity and the larger rate let through. */
function expectAtMostTheLarger(plans: readonly Plan[], admissions: readonly Admission[]): void {
  const capacity = Math.max(...plans.map((plan) => asBucket(plan).capacity));
  const perUs = Math.max(...plans.map((plan) => asBucket(plan).perUs));
  const inOrder = [...admissions].sort((a, b) => a.atUs - b.atUs);
  inOrder.forEach((first, i) => {
    let admitted = 0;
    for (const { atUs, cost } of inOrder.slice(i)) {
      admitted += cost;
      const most = capacity + (atUs - first.atUs) * perUs;
      if (admitted > most * (1 + 1e-9) + 1e-6) {
        throw new Error(`${admitted} tokens within ${atUs - first.atUs} µs, at most ${most}`);
      }
    }
  });
}

const quota = fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 1_000 }));
const periodMs = fc.oneof(
  fc.constantFrom(1_000, 10_000, 86_400_000),
  fc.integer({ min: 1_000, max: 600_000 }),
);

const bucket = fc
  .record({ capacity: quota, tokens: quota, ms: periodMs })
  .map(({ capacity, tokens, ms }): PlanDefinition => ({
    capacity,
    tokensPerSecond: (tokens * 1_000) / ms,
  }));
const window = fc
  .record({ limit: quota, windowMs: periodMs })
  .map((definition): PlanDefinition => definition);
const slots = fc
  .record({
    maxConcurrent: fc.integer({ min: 1, max: 5 }),
    leaseMs: fc.integer({ min: 1_000, max: 500_000 }),
  })
  .map((definition): PlanDefinition => definition);

const plansOf = (...definitions: fc.Arbitrary<PlanDefinition>[]) =>
  fc.tuple(...definitions).map((all) => all.map((one) => definePlan('mixed', one)));

const tokenPlans = fc.oneof(
  plansOf(bucket, bucket),
  plansOf(bucket, window),
  plansOf(window, window),
  plansOf(bucket, bucket, bucket),
);

const step = fc.record({
  by: fc.nat(2),
  share: fc.oneof(fc.constantFrom(0, 0, 1), fraction),
  repeats: fc.constantFrom(1, 1, 3, 20),
  mode: fc.constantFrom<Inquiry['mode']>('take', 'take', 'take', 'peek'),
  pause: fc.oneof(fc.constant(0), fraction, fc.constantFrom(1, 1.3, 2.5)),
  pauseOf: fc.nat(2),
});
const steps = fc.array(step, { minLength: 10, maxLength: 60 });

/** What holds while two deployments know a plan by different definitions. */
export function mixedDefinitionsContract(
  name: string,
  create: () => TwoDeployments,
  effort: Pick<Effort, 'runs' | 'millisecondsEach'>,
): void {
  const timeoutMs = effort.millisecondsEach + 30_000;
  const often = { numRuns: effort.runs, interruptAfterTimeLimit: effort.millisecondsEach };
  const rollout = (...definitions: PlanDefinition[]) =>
    new Rollout(
      create(),
      definitions.map((one) => definePlan('mixed', one)),
    );

  describe(`${name}, while a deployment changes a plan`, () => {
    it('admits no more than the larger bucket when a capacity is raised', async () => {
      const one = rollout(
        { capacity: 10, tokensPerSecond: 1 },
        { capacity: 100, tokensPerSecond: 1 },
      );
      for (let second = 0; second < 9; second++) {
        // As much as leaves the smaller bucket full, and then one by its definition.
        while ((await one.take(1, 11, 'peek')).allowed) await one.take(1);
        await one.take(0);
        await one.pass(1_000_000);
      }
      expectAtMostTheLarger(one.plans, one.admissions);
      expect(one.admissions.length).toBeLessThanOrEqual(109);
    });

    it('fills a bucket whose capacity was raised at its rate', async () => {
      const one = rollout(
        { capacity: 10, tokensPerSecond: 1 },
        { capacity: 100, tokensPerSecond: 1 },
      );
      await one.take(0, 10);
      await one.pass(10_000_000);
      expect((await one.take(1, 11)).waitUs).toBe(1_000_000);
      await one.pass(90_000_000);
      expect((await one.take(1, 100)).allowed).toBe(true);
    });

    it.each<[string, PlanDefinition]>([
      ['a faster bucket', { capacity: 10, tokensPerSecond: 1 }],
      ['a shorter window', { limit: 10, windowMs: 1_000 }],
      ['a smaller bucket', { capacity: 2, tokensPerSecond: 1 }],
    ])('keeps the old promise of a window that becomes %s', async (_what, changed) => {
      const one = rollout({ limit: 10, windowMs: 86_400_000 }, changed);
      for (let round = 0; round < 50; round++) {
        await one.take(0);
        if (round % 3 === 0) await one.take(1);
        await one.pass(60_000_000);
      }
      expect(one.admittedBy(0)).toBeLessThanOrEqual(10);
      // Those who know the new plan are served by it.
      expect(one.admittedBy(1)).toBe(17);
    });

    it('counts what a window let through for the bucket that it becomes', async () => {
      const one = rollout({ limit: 10, windowMs: 60_000 }, { capacity: 10, tokensPerSecond: 1 });
      await one.take(0, 10);
      expect((await one.take(1)).allowed).toBe(false);
      await one.pass(3_000_000);
      expect((await one.take(1, 3)).allowed).toBe(true);
      expect((await one.take(1)).waitUs).toBe(1_000_000);
      expect((await one.take(0)).allowed).toBe(false);
    });

    it('counts what a bucket let through for the window that it becomes', async () => {
      const one = rollout({ capacity: 10, tokensPerSecond: 1 }, { limit: 10, windowMs: 10_000 });
      await one.take(0, 10);
      expect((await one.take(1)).allowed).toBe(false);
      await one.pass(3_000_000);
      expect((await one.take(1, 3)).allowed).toBe(true);
      expect((await one.take(1)).allowed).toBe(false);
      // Ten came back in ten seconds, of which three were spent again, in the window as in the bucket.
      await one.pass(1_000_000);
      expect((await one.take(0, 2)).allowed).toBe(false);
      expect((await one.take(0, 1)).allowed).toBe(true);
    });

    it('changes nothing by a peek', async () => {
      const one = rollout({ limit: 10, windowMs: 60_000 }, { capacity: 10, tokensPerSecond: 1 });
      await one.take(0, 10);
      await one.take(1, 1, 'peek');
      await one.pass(5_000_000);
      expect((await one.take(1)).allowed).toBe(false);
    });

    it('goes on as if there had been one definition when the old one is no longer used', async () => {
      const one = rollout({ limit: 10, windowMs: 10_000 }, { capacity: 10, tokensPerSecond: 1 });
      await one.take(0, 4);
      for (let i = 0; i < 30; i++) {
        expect((await one.take(1)).allowed).toBe(true);
        await one.pass(1_000_000);
      }
      const peeked = await one.take(1, 1, 'peek');
      expect(peeked.limits[0]!.remaining).toBe(6);
      await one.pass(4_000_000);
      expect((await one.take(1, 1, 'peek')).limits[0]!.remaining).toBe(10);
    });

    it('starts anew when all was restored before a plan changed its kind', async () => {
      const one = rollout({ limit: 3, windowMs: 1_000 }, { capacity: 50, tokensPerSecond: 1 });
      await one.take(0, 3);
      await one.pass(2_000_000);
      expect((await one.take(1, 50)).allowed).toBe(true);
      expect((await one.take(1)).allowed).toBe(false);
    });

    it('keeps leases apart from tokens', async () => {
      const one = rollout(
        { capacity: 3, tokensPerSecond: 0.001 },
        { maxConcurrent: 2, leaseMs: 9_000 },
      );
      for (let i = 0; i < 5; i++) {
        await one.take(0);
        await one.take(1);
      }
      expect([one.admittedBy(0), one.admittedBy(1)]).toEqual([3, 2]);
    });

    it(
      'admits at most what the larger of the definitions does, in every interval',
      async () => {
        const bounded = fc.asyncProperty(tokenPlans, steps, async (plans, all) => {
          const one = new Rollout(create(), plans);
          for (const { by, share, repeats, mode, pause, pauseOf } of all) {
            const knows = by % plans.length;
            await one.pass(Math.floor(lengthUs(plans[pauseOf % plans.length]!) * pause));
            const cost = Math.max(1, Math.floor(costOf(plans[knows]!, share) / repeats));
            for (let i = 0; i < repeats; i++) await one.take(knows, cost, mode);
          }
          expectAtMostTheLarger(plans, one.admissions);
        });
        await fc.assert(bounded, often);
      },
      timeoutMs,
    );

    it(
      'allows it after exactly the wait it told',
      async () => {
        const honest = fc.asyncProperty(tokenPlans, steps, async (plans, all) => {
          const one = new Rollout(create(), plans);
          for (const { by, share, mode, pause, pauseOf } of all) {
            const knows = by % plans.length;
            one.two.clock.advanceUs(Math.floor(lengthUs(plans[pauseOf % plans.length]!) * pause));
            const cost = costOf(plans[knows]!, share);
            await one.take(knows, cost, mode === 'peek' ? 'take' : mode);
            const { allowed, waitUs } = await one.take(knows, cost, 'peek');
            if (allowed || waitUs === Infinity) continue;
            one.two.clock.advanceUs(waitUs);
            expect((await one.take(knows, cost, 'peek')).allowed).toBe(true);
          }
        });
        await fc.assert(honest, often);
      },
      timeoutMs,
    );

    it(
      'lends at most the slots of the larger of two caps',
      async () => {
        const bounded = fc.asyncProperty(plansOf(slots, slots), steps, async (plans, all) => {
          const one = new Rollout(create(), plans);
          const most = Math.max(...plans.map((plan) => plan.quota));
          let held: { endsUs: number; release(): Promise<unknown> }[] = [];
          for (const { by, pause, share } of all) {
            const knows = by % 2;
            await one.pass(Math.floor((lengthUs(plans[knows]!) * pause) / 4));
            const nowUs = one.two.clock.nowUs();
            held = held.filter(({ endsUs }) => endsUs > nowUs);
            const { allowed, leaseId, asked: limits, store } = await one.take(knows);
            expect(allowed).toBe(held.length < plans[knows]!.quota);
            const release = async () => await store.giveBack({ kind: 'release', limits, leaseId });
            if (allowed) held.push({ endsUs: nowUs + lengthUs(plans[knows]!), release });
            expect(held.length).toBeLessThanOrEqual(most);
            if (share === 1 && held.length > 0) await held.shift()!.release();
          }
        });
        await fc.assert(bounded, often);
      },
      timeoutMs,
    );
  });
}
