import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NEVER } from '../../lib/core/counter.js';
import { definePlan } from '../../lib/core/define-plan.js';
import type { Decision, Inquiry, Limit, LimitStore } from '../../lib/core/limit-store.js';
import type { Plan, PlanDefinition, TokenBucketPlan } from '../../lib/core/plan.js';

/** A store, and a way to let time pass for it. */
export interface StoreUnderTest {
  readonly store: LimitStore;
  /** Whether it decides key by key, so that a lease does not know for how long its holder waits. */
  readonly decidesKeyByKey?: true;
  advanceUs(us: number): Promise<void> | void;
  close(): Promise<void> | void;
}

const KINDS = ['token-bucket', 'sliding-window', 'concurrency'] as const;
type Kind = (typeof KINDS)[number];

/** Three of each kind: three tokens, three in a second, three slots. */
const THREE: Readonly<Record<Kind, PlanDefinition>> = {
  'token-bucket': { capacity: 3, tokensPerSecond: 1 },
  'sliding-window': { limit: 3, windowMs: 1_000 },
  concurrency: { maxConcurrent: 3, leaseMs: 5_000 },
};

const SECOND_US = 1_000_000;
const HOUR_US = 3_600 * SECOND_US;

const bucketOf = (capacity: number, tokensPerSecond: number): Plan =>
  definePlan('bucket', { capacity, tokensPerSecond });
const windowOf = (limit: number, windowMs: number): Plan =>
  definePlan('window', { limit, windowMs });
const slotsOf = (maxConcurrent: number, leaseMs: number): Plan =>
  definePlan('slots', { maxConcurrent, leaseMs });

/** Every kind with every kind, the one that says no in front or behind. */
const PAIRS = KINDS.flatMap((denying) =>
  KINDS.flatMap((other) =>
    (['first', 'last'] as const).map((position) => ({ denying, other, position })),
  ),
);

/** What every store has to do, whatever it remembers in. */
export function limitStoreContract(
  name: string,
  create: () => Promise<StoreUnderTest> | StoreUnderTest,
): void {
  let sut: StoreUnderTest;
  /** A key of this test alone. */
  let key: string;
  let leases = 0;

  beforeEach(async () => {
    sut = await create();
    key = `key-${randomUUID()}`;
  });

  afterEach(async () => {
    await sut.close();
  });

  const newLeaseId = () => `${key}-lease-${leases++}`;
  const limit = (plan: Plan, cost = 1, ownKey = key): Limit => ({ plan, key: ownKey, cost });

  async function decide(inquiry: Partial<Inquiry> & Pick<Inquiry, 'limits' | 'mode'>) {
    return await sut.store.decide({ maxWaitUs: 0, leaseId: newLeaseId(), ...inquiry });
  }

  const take = (limits: readonly Limit[], leaseId = newLeaseId()) =>
    decide({ limits, mode: 'take', leaseId });
  const peek = (...limits: readonly Limit[]) => decide({ limits, mode: 'peek' });
  const reserve = (limits: readonly Limit[], maxWaitUs: number, leaseId = newLeaseId()) =>
    decide({ limits, mode: 'reserve', maxWaitUs, leaseId });
  const refund = async (...limits: readonly Limit[]) =>
    await sut.store.giveBack({ kind: 'refund', limits });
  const release = async (leaseId: string, ...limits: readonly Limit[]) =>
    await sut.store.giveBack({ kind: 'release', limits, leaseId });
  const cancel = async (decision: Decision, leaseId = '') =>
    await sut.store.giveBack({ kind: 'cancel', decision, leaseId });
  const renew = async (leaseId: string, ...limits: readonly Limit[]) =>
    (await sut.store.renew([{ leaseId, limits }]))[0];
  const pass = async (us: number) => await sut.advanceUs(us);

  const remaining = async (one: Limit) => (await peek(one)).limits[0]!.remaining;
  const waitOf = async (one: Limit) => (await peek(one)).waitUs;

  /** Spends the whole quota of a limit, one by one where a lease is needed. */
  async function exhaust(one: Limit): Promise<void> {
    if (one.plan.kind !== 'concurrency') {
      await take([{ ...one, cost: one.plan.quota }]);
      return;
    }
    for (let slot = 0; slot < one.plan.quota; slot++) await take([one]);
  }

  /** Denied until exactly then: the last microsecond before says no, the next one yes. */
  async function expectAllowedAfter(waitUs: number, ...limits: readonly Limit[]): Promise<void> {
    expect(await peek(...limits)).toMatchObject({ allowed: false, waitUs });
    await pass(waitUs - 1);
    expect(await peek(...limits)).toMatchObject({ allowed: false, waitUs: 1 });
    await pass(1);
    expect(await peek(...limits)).toMatchObject({ allowed: true, waitUs: 0 });
  }

  describe(`${name}, deciding a chain`, () => {
    it.each(KINDS)('admits what a fresh %s plan holds and denies the rest', async (kind) => {
      const fresh = limit(definePlan('three', THREE[kind]));
      expect((await take([fresh])).limits[0]).toMatchObject({ admits: true, remaining: 2 });
      expect((await take([fresh])).limits[0]).toMatchObject({ admits: true, remaining: 1 });
      expect((await take([fresh])).limits[0]).toMatchObject({ admits: true, remaining: 0 });
      expect(await take([fresh])).toMatchObject({ allowed: false });
    });

    it('charges every limit of a chain that is allowed', async () => {
      const chain = KINDS.map((kind) => limit(definePlan(kind, THREE[kind]), 2));
      const decision = await take(chain);
      expect(decision).toMatchObject({ allowed: true, waitUs: 0 });
      expect(decision.limits.map((one) => one.remaining)).toEqual([1, 1, 2]);
      expect(await Promise.all(chain.map(remaining))).toEqual([1, 1, 2]);
    });

    it.each(PAIRS)(
      'leaves a $other plan alone when a $denying plan that comes $position denies',
      async ({ denying, other, position }) => {
        const denier = limit(definePlan('denier', THREE[denying]));
        const bystander = limit(definePlan('bystander', THREE[other]));
        const chain = position === 'first' ? [denier, bystander] : [bystander, denier];
        await exhaust(denier);
        await take([bystander]);
        const before = [await peek(denier), await peek(bystander)];

        const decision = await take(chain);

        expect(decision.allowed).toBe(false);
        expect(decision.limits.map((one) => one.admits)).toEqual(
          chain.map((one) => one === bystander),
        );
        expect([await peek(denier), await peek(bystander)].map(seen)).toEqual(before.map(seen));
      },
    );

    it.each(PAIRS.filter(({ position }) => position === 'first'))(
      'charges a $other plan once when the $denying plan before it admits again',
      async ({ denying, other }) => {
        const denier = limit(definePlan('denier', THREE[denying]));
        const bystander = limit(definePlan('bystander', THREE[other]));
        await exhaust(denier);
        const { waitUs } = await take([denier, bystander]);
        await pass(waitUs);
        expect((await take([denier, bystander])).allowed).toBe(true);
        expect(await remaining(bystander)).toBe(2);
      },
    );

    it('tells a wait also when a plan became so slow that its queue would take centuries', async () => {
      const fast = limit(definePlan('slowing', { capacity: 1_000, tokensPerSecond: 1_000 }), 1_000);
      for (let i = 0; i < 3_600; i++) await reserve([fast], 3_600_000_000);
      const slow = limit(definePlan('slowing', '1/day'));
      const decision = await take([slow]);
      expect(decision).toMatchObject({ allowed: false, waitUs: 630_720_000_000_000 });
      const window = limit(definePlan('beside', { limit: 5, windowMs: 1_000 }));
      expect((await take([window, slow])).waitUs).toBe(630_720_000_000_000);
    });

    it('waits for the slowest of those that deny', async () => {
      const slow = limit(definePlan('slow', { capacity: 1, tokensPerSecond: 1 }));
      const fast = limit(definePlan('fast', { capacity: 1, tokensPerSecond: 10 }));
      const free = limit(definePlan('free', { capacity: 9, tokensPerSecond: 0.001 }));
      await take([slow, fast, free]);
      const denied = await take([fast, slow, free]);
      expect(denied.limits.map(({ admits, waitUs }) => [admits, waitUs])).toEqual([
        [false, 100_000],
        [false, 1_000_000],
        [true, 0],
      ]);
      await expectAllowedAfter(1_000_000, fast, slow, free);
    });

    it('answers for each limit in the order of the inquiry', async () => {
      const chain = [limit(slotsOf(3, 1_000)), limit(bucketOf(4, 1), 2), limit(windowOf(5, 1_000))];
      const decision = await take(chain);
      expect(decision.limits.map((one) => one.limit)).toEqual(chain);
      expect(decision.limits.map((one) => one.remaining)).toEqual([2, 2, 4]);
    });

    it('decides requests that come together one after the other', async () => {
      const chain = [limit(bucketOf(7, 1)), limit(windowOf(5, 1_000)), limit(slotsOf(9, 1_000))];
      const decisions = await Promise.all(Array.from({ length: 40 }, () => take(chain)));
      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5);
      expect(await Promise.all(chain.map(remaining))).toEqual([2, 0, 4]);
    });

    it('tells when it decided, on a clock that moves with time', async () => {
      const one = limit(bucketOf(5, 1));
      const { atUs } = await take([one]);
      await pass(1_234_567);
      expect((await take([one])).atUs).toBe(atUs + 1_234_567);
    });
  });

  describe(`${name}, peeking`, () => {
    it.each(KINDS)('changes nothing of a fresh %s plan', async (kind) => {
      const one = limit(definePlan('three', THREE[kind]));
      for (let times = 0; times < 5; times++) {
        expect((await peek(one)).limits[0]).toMatchObject({
          admits: true,
          remaining: 3,
          waitUs: 0,
          resetUs: 0,
        });
      }
    });

    it.each(KINDS)('changes nothing of a %s plan in use, nor of an exhausted one', async (kind) => {
      const one = limit(definePlan('three', THREE[kind]));
      await take([one]);
      const inUse = seen(await peek(one));
      expect(seen(await peek(one))).toEqual(inUse);
      await take([one]);
      await take([one]);
      const exhausted = seen(await peek(one));
      expect(exhausted).toMatchObject({ allowed: false });
      expect(seen(await peek(one))).toEqual(exhausted);
    });

    it('does not start the window that a later request is counted in', async () => {
      const one = limit(windowOf(3, 1_000));
      await peek(one);
      await pass(900_000);
      await take([{ ...one, cost: 3 }]);
      expect((await peek(one)).limits[0]).toMatchObject({ resetUs: 2 * SECOND_US });
    });

    it('tells what a take would answer', async () => {
      const chain = [limit(bucketOf(3, 1), 2), limit(windowOf(9, 1_000), 2)];
      expect((await peek(...chain)).allowed).toBe(true);
      await take(chain);
      const { allowed, waitUs } = await peek(...chain);
      expect({ allowed, waitUs }).toEqual({ allowed: false, waitUs: SECOND_US });
      expect(await take(chain)).toMatchObject({ allowed, waitUs });
    });
  });

  describe(`${name}, token buckets`, () => {
    it.each([
      { capacity: 5, tokensPerSecond: 10, spent: 5, cost: 1, waitUs: 100_000 },
      { capacity: 5, tokensPerSecond: 10, spent: 5, cost: 5, waitUs: 500_000 },
      { capacity: 5, tokensPerSecond: 10, spent: 3, cost: 4, waitUs: 200_000 },
      { capacity: 10, tokensPerSecond: 3, spent: 10, cost: 1, waitUs: 333_334 },
      { capacity: 10, tokensPerSecond: 3, spent: 10, cost: 2, waitUs: 666_667 },
      { capacity: 10, tokensPerSecond: 3, spent: 10, cost: 3, waitUs: 1_000_000 },
      { capacity: 1, tokensPerSecond: 0.7, spent: 1, cost: 1, waitUs: 1_428_572 },
      { capacity: 1_000_000, tokensPerSecond: 7_000_000, spent: 1_000_000, cost: 1, waitUs: 1 },
      { capacity: 1_000_000, tokensPerSecond: 1_000, spent: 1_000_000, cost: 1, waitUs: 1_000 },
    ])(
      'of $capacity at $tokensPerSecond/s, less $spent, admits $cost after $waitUs µs and not before',
      async ({ capacity, tokensPerSecond, spent, cost, waitUs }) => {
        const plan = bucketOf(capacity, tokensPerSecond);
        await take([limit(plan, spent)]);
        await expectAllowedAfter(waitUs, limit(plan, cost));
      },
    );

    it.each(['1/hour', '7/hour', '1/day', '1000000/day', '3/7d'] as const)(
      'keeps its word to the microsecond at %s',
      async (rate) => {
        const plan = definePlan('slow', rate);
        await exhaust(limit(plan));
        for (const cost of [1, plan.quota]) {
          const { waitUs } = await take([limit(plan, cost)]);
          await expectAllowedAfter(waitUs, limit(plan, cost));
          await exhaust(limit(plan));
          await pass(12_345);
        }
      },
    );

    it('keeps its word over and over without drifting', async () => {
      const plan = bucketOf(1, 3);
      const { atUs } = await take([limit(plan)]);
      let last = atUs;
      for (let turn = 0; turn < 30; turn++) {
        await pass(await waitOf(limit(plan)));
        const decision = await take([limit(plan)]);
        expect(decision.allowed).toBe(true);
        last = decision.atUs;
      }
      expect(last - atUs).toBeGreaterThanOrEqual(10 * SECOND_US);
      expect(last - atUs).toBeLessThanOrEqual(10 * SECOND_US + 30);
    });

    it('gives back fractions of a token that add up', async () => {
      const plan = bucketOf(2, 10);
      await exhaust(limit(plan));
      for (let part = 0; part < 9; part++) {
        await pass(10_000);
        expect((await take([limit(plan)])).allowed).toBe(false);
      }
      await pass(10_000);
      expect((await take([limit(plan)])).allowed).toBe(true);
    });

    it('counts whole tokens in what remains', async () => {
      const plan = bucketOf(5, 10);
      await take([limit(plan, 4)]);
      await pass(99_999);
      expect(await remaining(limit(plan))).toBe(1);
      await pass(1);
      expect(await remaining(limit(plan))).toBe(2);
    });

    it('never refills above the capacity', async () => {
      const plan = bucketOf(5, 10);
      await take([limit(plan, 2)]);
      await pass(24 * HOUR_US);
      expect(await remaining(limit(plan))).toBe(5);
      expect((await take([limit(plan, 5)])).allowed).toBe(true);
      expect(await take([limit(plan)])).toMatchObject({ allowed: false, waitUs: 100_000 });
    });

    it('tells when it will be full again', async () => {
      const plan = bucketOf(5, 10);
      expect((await take([limit(plan, 2)])).limits[0]).toMatchObject({ resetUs: 200_000 });
      await pass(50_000);
      expect((await peek(limit(plan))).limits[0]).toMatchObject({ resetUs: 150_000 });
      await pass(150_000);
      expect((await peek(limit(plan))).limits[0]).toMatchObject({ resetUs: 0 });
    });

    it('never admits a cost above the capacity, however long one waits', async () => {
      const plan = bucketOf(5, 10);
      expect(await take([limit(plan, 6)])).toMatchObject({ allowed: false, waitUs: NEVER });
      await pass(24 * HOUR_US);
      expect(await take([limit(plan, 6)])).toMatchObject({ allowed: false, waitUs: NEVER });
      expect(await remaining(limit(plan))).toBe(5);
    });

    it('makes a whole chain wait forever when one of its costs is above the capacity', async () => {
      const soon = limit(definePlan('soon', { capacity: 1, tokensPerSecond: 1 }));
      await exhaust(soon);
      const decision = await take([limit(bucketOf(5, 10), 6), soon]);
      expect(decision).toMatchObject({ allowed: false, waitUs: NEVER });
      expect(decision.limits.map(({ waitUs }) => waitUs)).toEqual([NEVER, SECOND_US]);
    });
  });

  describe(`${name}, sliding windows`, () => {
    const window = windowOf(10, 1_000);

    it('fade: all of the first window, then less and less of it', async () => {
      await take([limit(window, 10)]);
      const left: number[] = [];
      let passed = 0;
      for (const us of [999_999, 1_000_000, 1_100_000, 1_500_000, 1_999_999, 2_000_000]) {
        await pass(us - passed);
        passed = us;
        left.push(await remaining(limit(window)));
      }
      expect(left).toEqual([0, 0, 1, 5, 9, 10]);
    });

    it.each([
      { cost: 1, waitUs: 1_100_000 },
      { cost: 5, waitUs: 1_500_000 },
      { cost: 10, waitUs: 2_000_000 },
    ])('admit $cost once a full window has faded, after $waitUs µs', async ({ cost, waitUs }) => {
      await take([limit(window, 10)]);
      await expectAllowedAfter(waitUs, limit(window, cost));
    });

    it.each([
      { cost: 1, waitUs: 100_000 },
      { cost: 3, waitUs: 300_000 },
      { cost: 5, waitUs: 500_000 },
      // More than the current window leaves: it has to become the previous one first.
      { cost: 6, waitUs: 700_000 },
      { cost: 10, waitUs: 1_500_000 },
    ])(
      'admit $cost beside a window in use once the previous one has faded, after $waitUs µs',
      async ({ cost, waitUs }) => {
        await take([limit(window, 10)]);
        await pass(1_500_000);
        await take([limit(window, 5)]);
        await expectAllowedAfter(waitUs, limit(window, cost));
      },
    );

    it.each([
      { max: 7, windowMs: 333, spent: 5, cost: 4 },
      { max: 100, windowMs: 60_000, spent: 97, cost: 13 },
      { max: 1, windowMs: 86_400_000, spent: 1, cost: 1 },
      { max: 1_000_000, windowMs: 86_400_000, spent: 999_999, cost: 77 },
    ])(
      'keep their word to the microsecond: $max in $windowMs ms',
      async ({ max, windowMs, spent, cost }) => {
        const plan = windowOf(max, windowMs);
        await take([limit(plan, spent)]);
        await expectAllowedAfter(await waitOf(limit(plan, cost)), limit(plan, cost));
        await take([limit(plan, cost)]);
        await pass(17);
        await expectAllowedAfter(await waitOf(limit(plan, max)), limit(plan, max));
      },
    );

    it('start with their first request', async () => {
      await pass(777_777);
      await take([limit(window, 10)]);
      await pass(999_999);
      expect(await waitOf(limit(window))).toBe(100_001);
    });

    it('start anew with the next request after two windows of silence', async () => {
      await take([limit(window, 10)]);
      await pass(2_300_000);
      await take([limit(window, 10)]);
      expect((await peek(limit(window))).limits[0]).toMatchObject({
        remaining: 0,
        waitUs: 1_100_000,
        resetUs: 2_000_000,
      });
    });

    it('go on from where they started while they are in use', async () => {
      await take([limit(window, 4)]);
      await pass(1_250_000);
      // Three quarters of the four are left, and half of them a quarter of a window later.
      expect(await remaining(limit(window))).toBe(7);
      await take([limit(window, 7)]);
      await pass(250_000);
      expect(await remaining(limit(window))).toBe(1);
      await pass(500_000);
      expect(await remaining(limit(window))).toBe(3);
    });

    it('let just under twice the limit through when it comes late and then early', async () => {
      await take([limit(window)]);
      await pass(999_999);
      expect((await take([limit(window, 9)])).allowed).toBe(true);
      await pass(900_001);
      expect((await take([limit(window, 9)])).allowed).toBe(true);
      expect((await take([limit(window)])).allowed).toBe(false);
    });

    it('tell when nothing will be left of what was spent', async () => {
      await take([limit(window, 2)]);
      await pass(400_000);
      expect((await peek(limit(window))).limits[0]).toMatchObject({ resetUs: 1_600_000 });
      await pass(700_000);
      expect((await peek(limit(window))).limits[0]).toMatchObject({ resetUs: 900_000 });
      await take([limit(window)]);
      expect((await peek(limit(window))).limits[0]).toMatchObject({ resetUs: 1_900_000 });
      await pass(1_900_000);
      expect((await peek(limit(window))).limits[0]).toMatchObject({ resetUs: 0, remaining: 10 });
    });

    it('never admit a cost above the limit', async () => {
      expect(await take([limit(window, 11)])).toMatchObject({ allowed: false, waitUs: NEVER });
      expect(await remaining(limit(window))).toBe(10);
    });
  });

  describe(`${name}, refunding`, () => {
    it('puts tokens back, never above what a plan holds', async () => {
      const bucket = limit(bucketOf(5, 1));
      const window = limit(windowOf(5, 1_000));
      await take([
        { ...bucket, cost: 3 },
        { ...window, cost: 3 },
      ]);
      await refund(bucket, window);
      expect(await Promise.all([bucket, window].map(remaining))).toEqual([3, 3]);
      await refund({ ...bucket, cost: 4 }, { ...window, cost: 4 });
      expect(await Promise.all([bucket, window].map(remaining))).toEqual([5, 5]);
      expect((await take([bucket, window].map((one) => ({ ...one, cost: 5 })))).allowed).toBe(true);
      expect((await take([bucket])).allowed).toBe(false);
      expect((await take([window])).allowed).toBe(false);
    });

    it('puts tokens back into a bucket that owes them', async () => {
      const one = limit(bucketOf(5, 1));
      await exhaust(one);
      expect((await reserve([{ ...one, cost: 4 }], HOUR_US)).waitUs).toBe(4_000_000);
      expect(await refund({ ...one, cost: 3 })).toBe(true);
      expect((await reserve([one], HOUR_US)).waitUs).toBe(2_000_000);
    });

    it.each(['token-bucket', 'sliding-window'] as const)(
      'creates nothing where nothing was spent from a %s plan',
      async (kind) => {
        const one = limit(definePlan('three', THREE[kind]));
        await refund(one, { ...one, cost: 2 });
        expect(seen(await peek(one))).toMatchObject({ remaining: [3], resetUs: [0] });
        await exhaust(one);
        expect((await take([one])).allowed).toBe(false);
      },
    );

    it('creates nothing where all was forgotten', async () => {
      const one = limit(bucketOf(5, 1));
      await take([one]);
      await sut.store.reset([one]);
      await refund(one);
      expect((await take([{ ...one, cost: 5 }])).allowed).toBe(true);
      expect((await take([one])).allowed).toBe(false);
    });

    it('takes back from the window before when the current one does not hold it', async () => {
      const plan = windowOf(10, 1_000);
      await take([limit(plan, 8)]);
      await pass(1_500_000);
      await take([limit(plan, 2)]);
      expect(await remaining(limit(plan))).toBe(4);
      await refund(limit(plan, 6));
      expect(await remaining(limit(plan))).toBe(8);
    });

    it('frees no slot', async () => {
      const one = limit(slotsOf(1, 1_000));
      await take([one]);
      await refund(one);
      expect((await take([one])).allowed).toBe(false);
    });
  });

  describe(`${name}, lending slots`, () => {
    const slots = slotsOf(2, 1_000);
    const LEASE_US = 1_000_000;

    it('lends one slot for each lease, whatever the cost', async () => {
      expect((await take([limit(slots, 50)], 'a')).limits[0]).toMatchObject({ remaining: 1 });
      expect((await take([limit(slots, 50)], 'b')).limits[0]).toMatchObject({ remaining: 0 });
      expect((await take([limit(slots)], 'c')).allowed).toBe(false);
    });

    it('lends no second slot under the same id', async () => {
      await take([limit(slots)], 'a');
      expect((await take([limit(slots)], 'a')).limits[0]).toMatchObject({ remaining: 1 });
      expect((await take([limit(slots)], 'b')).allowed).toBe(true);
      await release('a', limit(slots));
      expect(await remaining(limit(slots))).toBe(1);
    });

    it('admits a lease again that is held, though every slot is taken', async () => {
      await take([limit(slots)], 'a');
      await take([limit(slots)], 'b');
      expect(await take([limit(slots)], 'a')).toMatchObject({
        allowed: true,
        waitUs: 0,
        limits: [{ admits: true, remaining: 0 }],
      });
      expect((await take([limit(slots)], 'c')).allowed).toBe(false);
    });

    it('does not admit a lease again that has ended, when every slot is taken', async () => {
      await take([limit(slots)], 'a');
      await pass(LEASE_US);
      await take([limit(slots)], 'b');
      await take([limit(slots)], 'c');
      expect((await take([limit(slots)], 'a')).allowed).toBe(false);
    });

    it('takes a slot back once, however often it is released', async () => {
      await take([limit(slots)], 'a');
      await take([limit(slots)], 'b');
      await release('a', limit(slots));
      await release('a', limit(slots));
      expect(await remaining(limit(slots))).toBe(1);
      await release('nobody', limit(slots));
      expect(await remaining(limit(slots))).toBe(1);
    });

    it('creates nothing when a slot is released that was never lent', async () => {
      await release('a', limit(slots), limit(bucketOf(5, 1)), limit(windowOf(5, 1_000)));
      expect(await remaining(limit(slots))).toBe(2);
      expect(await remaining(limit(bucketOf(5, 1)))).toBe(5);
    });

    it('ends a lease after exactly its length', async () => {
      await take([limit(slots)], 'a');
      await take([limit(slots)], 'b');
      await expectAllowedAfter(LEASE_US, limit(slots));
      expect(await remaining(limit(slots))).toBe(2);
    });

    it("leaves the next holder's slot alone when the last one releases late", async () => {
      await take([limit(slots)], 'a');
      await pass(LEASE_US);
      await take([limit(slots)], 'b');
      await take([limit(slots)], 'c');
      await release('a', limit(slots));
      expect((await take([limit(slots)], 'd')).allowed).toBe(false);
    });

    it('prolongs a lease by its full length when it is renewed', async () => {
      const single = limit(slotsOf(1, 1_000));
      await take([single], 'a');
      await pass(600_000);
      expect(await renew('a', single)).toBe(true);
      await expectAllowedAfter(LEASE_US, single);
    });

    it('renews up to the last microsecond and not after', async () => {
      const single = limit(slotsOf(1, 1_000));
      await take([single], 'a');
      await pass(LEASE_US - 1);
      expect(await renew('a', single)).toBe(true);
      await pass(LEASE_US);
      expect(await renew('a', single)).toBe(false);
      expect((await take([single], 'b')).allowed).toBe(true);
      expect(await renew('a', single)).toBe(false);
    });

    it('does not renew what was released or never lent', async () => {
      await take([limit(slots)], 'a');
      await release('a', limit(slots));
      expect(await renew('a', limit(slots))).toBe(false);
      expect(await renew('nobody', limit(slots))).toBe(false);
      expect(await remaining(limit(slots))).toBe(2);
    });

    it('answers for each lease that is renewed, in order', async () => {
      const limits = [limit(slots)];
      await take(limits, 'a');
      await take(limits, 'b');
      const leases = ['nobody', 'b', 'a'].map((leaseId) => ({ leaseId, limits }));
      expect(await sut.store.renew(leases)).toEqual([false, true, true]);
      expect(await sut.store.renew([])).toEqual([]);
    });

    it('renews a lease only if all of its slots are still held', async () => {
      const short = limit(definePlan('short', { maxConcurrent: 1, leaseMs: 500 }));
      const long = limit(definePlan('long', { maxConcurrent: 1, leaseMs: 5_000 }));
      await take([short, long], 'a');
      await pass(499_999);
      expect(await renew('a', short, long)).toBe(true);
      await pass(500_000);
      expect(await renew('a', short, long)).toBe(false);
    });

    it('tells the earliest moment at which a slot is free for sure', async () => {
      await take([limit(slots)], 'a');
      await pass(300_000);
      await take([limit(slots)], 'b');
      expect(await waitOf(limit(slots))).toBe(700_000);
      await pass(100_000);
      await renew('a', limit(slots));
      // Now "b" ends first.
      await expectAllowedAfter(900_000, limit(slots));
    });

    it('revokes nothing when the number of slots is lowered: it drains', async () => {
      const three = limit(slotsOf(3, 1_000));
      const one = limit(slotsOf(1, 1_000));
      for (const leaseId of ['a', 'b', 'c']) {
        await take([three], leaseId);
        await pass(100_000);
      }
      expect(await waitOf(one)).toBe(900_000);
      expect(await remaining(one)).toBe(0);
      expect(await renew('a', one)).toBe(true);
      await release('b', one);
      expect((await take([one], 'd')).allowed).toBe(false);
      await release('c', one);
      expect((await take([one], 'd')).allowed).toBe(false);
      await release('a', one);
      expect((await take([one], 'd')).allowed).toBe(true);
    });

    it('waits, after the number was lowered, until enough leases have ended', async () => {
      for (const leaseId of ['a', 'b', 'c']) {
        await take([limit(slotsOf(3, 1_000))], leaseId);
        await pass(100_000);
      }
      await expectAllowedAfter(800_000, limit(slotsOf(2, 1_000)));
    });

    it('lends the new slots at once when the number is raised', async () => {
      await exhaust(limit(slotsOf(1, 1_000)));
      expect((await take([limit(slotsOf(2, 1_000))])).allowed).toBe(true);
      expect((await take([limit(slotsOf(2, 1_000))])).allowed).toBe(false);
    });

    it('keeps the order of endings when leases get shorter', async () => {
      await take([limit(slotsOf(2, 9_000))], 'long');
      await take([limit(slotsOf(2, 1_000))], 'short');
      await expectAllowedAfter(LEASE_US, limit(slotsOf(2, 1_000)));
    });

    it('promises no time at which slots come back', async () => {
      expect((await take([limit(slots)])).limits[0]).toMatchObject({ resetUs: 0 });
      expect((await peek(limit(slots))).limits[0]).toMatchObject({ resetUs: 0 });
    });
  });

  describe(`${name}, reserving`, () => {
    const bucket = bucketOf(5, 10);
    const TOKEN_US = 100_000;

    it('spends at once what is there', async () => {
      expect(await reserve([limit(bucket, 3)], HOUR_US)).toMatchObject({
        allowed: true,
        waitUs: 0,
        limits: [{ admits: true, remaining: 2, waitUs: 0 }],
      });
      expect(await remaining(limit(bucket))).toBe(2);
    });

    it('serves in the order of arrival', async () => {
      await exhaust(limit(bucket));
      const waits: number[] = [];
      for (const cost of [1, 4, 1, 2]) {
        waits.push((await reserve([limit(bucket, cost)], HOUR_US)).waitUs);
      }
      expect(waits).toEqual([1, 5, 6, 8].map((tokens) => tokens * TOKEN_US));
    });

    it('keeps those who only try behind those who booked', async () => {
      await exhaust(limit(bucket));
      await reserve([limit(bucket, 5)], HOUR_US);
      expect(await remaining(limit(bucket))).toBe(0);
      await expectAllowedAfter(6 * TOKEN_US, limit(bucket));
    });

    it('tells the time to full from below zero', async () => {
      await exhaust(limit(bucket));
      const { limits } = await reserve([limit(bucket, 2)], HOUR_US);
      expect(limits[0]).toMatchObject({ admits: true, remaining: 0, resetUs: 7 * TOKEN_US });
    });

    it('books a wait of exactly the longest, and nothing for one that is longer', async () => {
      await exhaust(limit(bucket));
      const before = seen(await peek(limit(bucket)));
      expect(await reserve([limit(bucket, 2)], 2 * TOKEN_US - 1)).toMatchObject({
        allowed: false,
        waitUs: 2 * TOKEN_US,
        limits: [{ admits: false }],
      });
      expect(seen(await peek(limit(bucket)))).toEqual(before);
      expect(await reserve([limit(bucket, 2)], 2 * TOKEN_US)).toMatchObject({
        allowed: true,
        waitUs: 2 * TOKEN_US,
      });
    });

    it.each([1_000 * HOUR_US, Infinity])(
      'never books a cost above the capacity, not even for a patience of %d µs',
      async (maxWaitUs) => {
        const slot = limit(slotsOf(1, 1_000));
        expect(await reserve([limit(bucket, 6), slot], maxWaitUs)).toMatchObject({
          allowed: false,
          waitUs: NEVER,
        });
        expect(await Promise.all([limit(bucket), slot].map(remaining))).toEqual([5, 1]);
      },
    );

    it.each(['sliding-window', 'concurrency'] as const)(
      'does not wait for a %s plan, and leaves the bucket alone',
      async (kind) => {
        const full = limit(definePlan('full', THREE[kind]));
        await exhaust(full);
        await exhaust(limit(bucket));
        const before = seen(await peek(limit(bucket)));
        const decision = await reserve([limit(bucket), full], 1_000 * HOUR_US);
        expect(decision.allowed).toBe(false);
        expect(decision.limits.map(({ admits }) => admits)).toEqual([true, false]);
        expect(seen(await peek(limit(bucket)))).toEqual(before);
      },
    );

    it('charges a window that admits at once beside a bucket that does not', async () => {
      const window = limit(windowOf(3, 1_000));
      await exhaust(limit(bucket));
      expect(await reserve([limit(bucket), window], HOUR_US)).toMatchObject({
        allowed: true,
        waitUs: TOKEN_US,
      });
      expect(await remaining(window)).toBe(2);
    });

    it('waits for the slowest bucket of a chain', async () => {
      const slow = limit(definePlan('slow', { capacity: 1, tokensPerSecond: 2 }));
      await exhaust(limit(bucket));
      await exhaust(slow);
      const decision = await reserve([limit(bucket), slow], HOUR_US);
      expect(decision).toMatchObject({ allowed: true, waitUs: 500_000 });
      expect(decision.limits.map(({ waitUs }) => waitUs)).toEqual([TOKEN_US, 500_000]);
    });

    it('books on no bucket of a chain when one would take too long', async () => {
      const slow = limit(definePlan('slow', { capacity: 1, tokensPerSecond: 2 }));
      await exhaust(limit(bucket));
      await exhaust(slow);
      expect(await reserve([limit(bucket), slow], 499_999)).toMatchObject({
        allowed: false,
        waitUs: 500_000,
      });
      expect(await waitOf(limit(bucket))).toBe(TOKEN_US);
      expect(await waitOf(slow)).toBe(500_000);
    });

    it('runs a lease from the moment at which its holder may act', async () => {
      const slot = limit(slotsOf(1, 1_000));
      await exhaust(limit(bucket));
      expect(await reserve([limit(bucket, 2), slot], HOUR_US, 'a')).toMatchObject({
        waitUs: 200_000,
      });
      await expectAllowedAfter(sut.decidesKeyByKey ? 1_000_000 : 1_200_000, slot);
    });

    it('keeps the order of endings when a lease was booked ahead', async () => {
      const slots = limit(slotsOf(2, 1_000));
      await exhaust(limit(bucket));
      await reserve([limit(bucket, 5), slots], HOUR_US, 'late');
      await take([slots], 'early');
      await expectAllowedAfter(1_000_000, slots);
    });
  });

  describe(`${name}, cancelling`, () => {
    const bucket = bucketOf(5, 10);
    const TOKEN_US = 100_000;

    it('gives the last turn back in full', async () => {
      await exhaust(limit(bucket));
      await reserve([limit(bucket, 2)], HOUR_US);
      await cancel(await reserve([limit(bucket, 5)], HOUR_US));
      expect((await reserve([limit(bucket)], HOUR_US)).waitUs).toBe(3 * TOKEN_US);
    });

    it.each(['1/hour', '5/day', '1/30d', '1000000/day'] as const)(
      'gives the last turn back in full at %s',
      async (rate) => {
        const slow = limit(definePlan('slow', rate));
        await exhaust(slow);
        const booked = await reserve([slow], 1_000 * HOUR_US);
        await cancel(booked);
        const again = await reserve([slow], 1_000 * HOUR_US);
        // But for the tolerance of a billionth of a token.
        const period = slow.plan.windowMs * 1_000;
        expect(again.waitUs - booked.waitUs).toBeGreaterThanOrEqual(0);
        expect(again.waitUs - booked.waitUs).toBeLessThanOrEqual(2e-9 * period + 1);
      },
    );

    it('gives a turn back in full that came at once', async () => {
      await cancel(await reserve([limit(bucket, 4)], 0));
      expect(await remaining(limit(bucket))).toBe(5);
      expect((await take([limit(bucket, 5)])).allowed).toBe(true);
      expect((await take([limit(bucket)])).allowed).toBe(false);
    });

    it('gives turns back one by one from the end of the queue', async () => {
      await exhaust(limit(bucket));
      const first = await reserve([limit(bucket, 2)], HOUR_US);
      const second = await reserve([limit(bucket, 3)], HOUR_US);
      await cancel(second);
      expect(await waitOf(limit(bucket))).toBe(3 * TOKEN_US);
      await cancel(first);
      expect(await waitOf(limit(bucket))).toBe(TOKEN_US);
    });

    it('gives a whole queue back, from its end, however long it was held', async () => {
      await exhaust(limit(bucket));
      const queue: Decision[] = [];
      for (let i = 0; i < 40; i++) queue.push(await reserve([limit(bucket)], HOUR_US));
      await pass(2 * TOKEN_US + TOKEN_US / 2);
      for (const booked of queue.slice(2).reverse()) await cancel(booked);
      expect((await reserve([limit(bucket)], HOUR_US)).waitUs).toBe(TOKEN_US / 2);
    });

    it('gives nothing back that the next in the queue has built upon', async () => {
      await exhaust(limit(bucket));
      const first = await reserve([limit(bucket, 2)], HOUR_US);
      await reserve([limit(bucket, 2)], HOUR_US);
      await cancel(first);
      expect((await reserve([limit(bucket)], HOUR_US)).waitUs).toBe(5 * TOKEN_US);
    });

    it('gives nothing back of what was full since, all the less when it was forgotten', async () => {
      const early = await reserve([limit(bucket)], 0);
      await reserve([limit(bucket)], 0);
      const late = await reserve([limit(bucket)], 0);
      await cancel(early);
      await pass(2 * TOKEN_US + TOKEN_US / 2);
      await take([limit(bucket)]);
      await cancel(late);
      expect(await waitOf(limit(bucket, 5))).toBe(TOKEN_US);
    });

    it('gives nothing back that time has given back already', async () => {
      const early = await reserve([limit(bucket)], 0);
      await pass(TOKEN_US);
      await exhaust(limit(bucket));
      await cancel(early);
      expect(await take([limit(bucket)])).toMatchObject({ allowed: false });
    });

    it('gives nothing back of a past turn while another one waits', async () => {
      const single = limit(bucketOf(1, 1));
      const past = await reserve([single], HOUR_US);
      await pass(500_000);
      expect((await reserve([single], HOUR_US)).waitUs).toBe(500_000);
      await cancel(past);
      expect((await reserve([single], HOUR_US)).waitUs).toBe(1_500_000);
    });

    it('never gives back more than the capacity', async () => {
      const early = await reserve([limit(bucket, 3)], 0);
      await pass(2 * TOKEN_US);
      await cancel(early);
      expect((await take([limit(bucket, 5)])).allowed).toBe(true);
      expect((await take([limit(bucket)])).allowed).toBe(false);
    });

    it('creates nothing where all was forgotten', async () => {
      const booked = await reserve([limit(bucket, 3)], 0);
      await sut.store.reset([limit(bucket)]);
      await cancel(booked);
      expect(await peek(limit(bucket, 5))).toMatchObject({ allowed: true });
      expect((await peek(limit(bucket))).limits[0]).toMatchObject({ remaining: 5, resetUs: 0 });
    });

    it.each([
      { costs: [1, 1, 1, 1], cancelled: 1 },
      { costs: [5, 1, 1, 1], cancelled: 0 },
      { costs: [2, 5, 1, 3], cancelled: 1 },
      { costs: [1, 4, 2, 5], cancelled: 2 },
      { costs: [5, 5, 5, 5], cancelled: 0 },
      { costs: [3, 1, 5, 1], cancelled: 2 },
    ])(
      'lets nobody share a turn: $costs in the queue, number $cancelled cancelled',
      async ({ costs, cancelled }) => {
        const turns: { atUs: number; cost: number }[] = [];
        const book = async (cost: number) => {
          const decision = await reserve([limit(bucket, cost)], HOUR_US);
          turns.push({ atUs: decision.atUs + decision.waitUs, cost });
          return decision;
        };
        await book(5);
        const queue: Decision[] = [];
        for (const cost of costs) queue.push(await book(cost));
        await pass(30_000);
        await cancel(queue[cancelled]!);
        turns.splice(cancelled + 1, 1);
        for (const newcomer of [1, 1, 5, 1, 3, 1]) await book(newcomer);
        expect(mostAboveAllowance(bucket as TokenBucketPlan, turns)).toBeLessThan(1e-4);
      },
    );

    it('lets nobody share a turn when the one before and the one before that are cancelled', async () => {
      const first = await reserve([limit(bucket, 5)], HOUR_US);
      const second = await reserve([limit(bucket, 5)], HOUR_US);
      const turns = [await reserve([limit(bucket)], HOUR_US)];
      await cancel(second);
      await cancel(first);
      for (const cost of [1, 1, 5]) turns.push(await reserve([limit(bucket, cost)], HOUR_US));
      const acts = turns.map(({ atUs, waitUs, limits }) => ({
        atUs: atUs + waitUs,
        cost: limits[0]!.limit.cost,
      }));
      expect(mostAboveAllowance(bucket as TokenBucketPlan, acts)).toBeLessThan(1e-4);
    });

    it('gives back what a window was charged', async () => {
      const window = limit(windowOf(3, 1_000));
      await cancel(await reserve([limit(bucket), { ...window, cost: 2 }], HOUR_US));
      expect(await remaining(window)).toBe(3);
    });

    it('releases the slot', async () => {
      const slot = limit(slotsOf(1, 1_000));
      await exhaust(limit(bucket));
      const decision = await reserve([limit(bucket), slot], HOUR_US, 'a');
      expect((await take([slot], 'b')).allowed).toBe(false);
      await cancel(decision, 'a');
      expect((await take([slot], 'b')).allowed).toBe(true);
    });

    it('leaves a shadow alone that was not charged', async () => {
      const shadow = limit(definePlan('shadow', { limit: 3, windowMs: 1_000, shadow: true }));
      await take([{ ...shadow, cost: 2 }]);
      const decision = await reserve([limit(bucket), { ...shadow, cost: 2 }], HOUR_US);
      expect(decision.limits.map(({ admits }) => admits)).toEqual([true, false]);
      await cancel(decision);
      expect(await remaining(shadow)).toBe(1);
    });
  });

  describe(`${name}, shadow plans`, () => {
    const shadowOf = (kind: Kind) =>
      definePlan('shadow', { ...(THREE[kind] as object), shadow: true } as PlanDefinition);

    it.each(KINDS)('never deny: a %s plan only reports that it would have', async (kind) => {
      const shadow = limit(shadowOf(kind));
      await exhaust(shadow);
      const { waitUs } = (await peek(shadow)).limits[0]!;
      expect(waitUs).toBeGreaterThan(0);
      expect(await take([shadow])).toMatchObject({
        allowed: true,
        waitUs: 0,
        limits: [{ admits: false, remaining: 0, waitUs }],
      });
    });

    it.each(KINDS)('are charged when they admit: a %s plan counts down', async (kind) => {
      const shadow = limit(shadowOf(kind));
      const real = limit(bucketOf(9, 1));
      const left: number[] = [];
      for (let times = 0; times < 4; times++) {
        left.push((await take([shadow, real])).limits[0]!.remaining);
      }
      expect(left).toEqual([2, 1, 0, 0]);
      expect(await remaining(real)).toBe(5);
    });

    it.each(KINDS)(
      'are not charged when they would deny: a %s plan stays as it is',
      async (kind) => {
        const shadow = limit(shadowOf(kind));
        await exhaust(shadow);
        const before = seen(await peek(shadow));
        await take([shadow, limit(bucketOf(9, 1))]);
        expect(seen(await peek(shadow))).toEqual(before);
      },
    );

    it.each(KINDS)(
      'are not charged when the chain is denied: a %s plan stays fresh',
      async (kind) => {
        const shadow = limit(shadowOf(kind));
        const denier = limit(bucketOf(1, 1));
        await exhaust(denier);
        expect((await take([shadow, denier])).allowed).toBe(false);
        expect(await remaining(shadow)).toBe(3);
      },
    );

    it('do not lengthen the wait of those that deny', async () => {
      const shadow = limit(
        definePlan('shadow', { capacity: 1, tokensPerSecond: 0.01, shadow: true }),
      );
      const denier = limit(bucketOf(1, 10));
      await take([shadow, denier]);
      expect(await take([shadow, denier])).toMatchObject({ allowed: false, waitUs: 100_000 });
      expect(await take([{ ...shadow, cost: 2 }, denier])).toMatchObject({ waitUs: 100_000 });
    });

    it('do not make a reservation wait', async () => {
      const shadow = limit(definePlan('shadow', { capacity: 1, tokensPerSecond: 1, shadow: true }));
      await exhaust(shadow);
      expect(await reserve([shadow, limit(bucketOf(5, 10))], HOUR_US)).toMatchObject({
        allowed: true,
        waitUs: 0,
      });
    });
  });

  describe(`${name}, changing a plan while it is in use`, () => {
    it('keeps the tokens of a bucket, clamped to a smaller capacity', async () => {
      await take([limit(bucketOf(10, 1), 2)]);
      expect(await remaining(limit(bucketOf(5, 1)))).toBe(5);
      expect((await take([limit(bucketOf(5, 1), 5)])).allowed).toBe(true);
      expect(await take([limit(bucketOf(5, 1))])).toMatchObject({ waitUs: SECOND_US });
    });

    it('keeps the tokens of a bucket that are fewer than a smaller capacity', async () => {
      await take([limit(bucketOf(10, 1), 8)]);
      expect(await remaining(limit(bucketOf(5, 1)))).toBe(2);
    });

    it('gives no tokens away when the capacity grows', async () => {
      await take([limit(bucketOf(5, 1), 5)]);
      expect(await remaining(limit(bucketOf(100, 1)))).toBe(0);
      await pass(3 * SECOND_US);
      expect(await remaining(limit(bucketOf(100, 1)))).toBe(3);
    });

    it('starts anew when a window changes after all that was spent has come back', async () => {
      const one = limit(definePlan('three', THREE['sliding-window']));
      const { limits } = await take([one]);
      await pass(limits[0]!.resetUs);
      const grown = limit({ ...one.plan, quota: 100 });
      expect(await remaining(grown)).toBe(100);
      await take([{ ...grown, cost: 100 }]);
      expect((await take([grown])).allowed).toBe(false);
    });

    it('fills a bucket whose capacity grew at its rate', async () => {
      await take([limit(bucketOf(3, 1))]);
      await pass(SECOND_US);
      expect(await remaining(limit(bucketOf(100, 1)))).toBe(3);
      await pass(97 * SECOND_US);
      expect(await remaining(limit(bucketOf(100, 1)))).toBe(100);
    });

    it('refills at the new rate', async () => {
      await exhaust(limit(bucketOf(5, 1)));
      await expectAllowedAfter(100_000, limit(bucketOf(5, 10)));
    });

    it('keeps what a window has counted', async () => {
      await take([limit(windowOf(10, 1_000), 6)]);
      expect(await remaining(limit(windowOf(8, 1_000)))).toBe(2);
      expect(await remaining(limit(windowOf(4, 1_000)))).toBe(0);
      // Six that fade below the three that leave room for one more.
      await expectAllowedAfter(1_500_000, limit(windowOf(4, 1_000)));
    });

    it('keeps counting when a plan becomes a shadow, and when it stops being one', async () => {
      const real = bucketOf(2, 1);
      await take([limit(real)]);
      await take([limit({ ...real, shadow: true })]);
      expect((await take([limit({ ...real, shadow: true })])).allowed).toBe(true);
      expect((await take([limit(real)])).allowed).toBe(false);
    });

    it.each([
      { from: 'token-bucket', to: 'sliding-window' },
      { from: 'sliding-window', to: 'token-bucket' },
    ] as const)(
      'keeps what was spent when a $from plan becomes a $to plan',
      async ({ from, to }) => {
        await take([limit(definePlan('changing', THREE[from]), 2)]);
        const changed = limit(definePlan('changing', THREE[to]));
        await refund(changed);
        expect(await remaining(changed)).toBe(1);
        await take([changed]);
        expect((await take([changed])).allowed).toBe(false);
        await pass(4 * SECOND_US);
        expect(await remaining(changed)).toBe(3);
      },
    );

    it.each(
      (['token-bucket', 'sliding-window'] as const).flatMap((kind) => [
        { from: kind, to: 'concurrency' as const },
        { from: 'concurrency' as const, to: kind },
      ]),
    )('starts anew when a $from plan becomes a $to plan', async ({ from, to }) => {
      await exhaust(limit(definePlan('changing', THREE[from])));
      const changed = limit(definePlan('changing', THREE[to]));
      await refund(changed);
      expect(await remaining(changed)).toBe(3);
      await exhaust(changed);
      expect((await take([changed])).allowed).toBe(false);
    });
  });

  describe(`${name}, resetting`, () => {
    it.each(KINDS)('forgets what was spent from a %s plan', async (kind) => {
      const one = limit(definePlan('three', THREE[kind]));
      await exhaust(one);
      await sut.store.reset([one]);
      expect((await peek(one)).limits[0]).toMatchObject({ remaining: 3, waitUs: 0, resetUs: 0 });
      await exhaust(one);
      expect((await take([one])).allowed).toBe(false);
    });

    it('forgets turns that were booked', async () => {
      const one = limit(bucketOf(1, 1));
      await exhaust(one);
      await reserve([one], HOUR_US);
      await sut.store.reset([one]);
      expect((await take([one])).allowed).toBe(true);
    });

    it('leaves other keys and other plans alone', async () => {
      const one = limit(bucketOf(3, 1));
      const others = [limit(bucketOf(3, 1), 1, `${key}-other`), limit(windowOf(3, 1_000))];
      await take([one, ...others]);
      await sut.store.reset([one]);
      expect(await Promise.all([one, ...others].map(remaining))).toEqual([3, 2, 2]);
    });

    it('forgets several limits at once, and does not mind unknown ones', async () => {
      const known = [limit(bucketOf(3, 1)), limit(windowOf(3, 1_000))];
      await take(known);
      await sut.store.reset([...known, limit(slotsOf(3, 1_000))]);
      expect(await Promise.all(known.map(remaining))).toEqual([3, 3]);
    });
  });

  describe(`${name}, telling limits apart`, () => {
    it.each(KINDS)('counts every key by itself in a %s plan', async (kind) => {
      const plan = definePlan('three', THREE[kind]);
      await exhaust(limit(plan));
      expect(await remaining(limit(plan, 1, `${key}2`))).toBe(3);
      expect(await remaining(limit(plan))).toBe(0);
    });

    it('counts one key under different plans by itself', async () => {
      const gold = limit(definePlan('gold', { capacity: 3, tokensPerSecond: 1 }));
      const silver = limit(definePlan('silver', { capacity: 3, tokensPerSecond: 1 }));
      await exhaust(gold);
      expect(await remaining(silver)).toBe(3);
      expect(await remaining(gold)).toBe(0);
    });

    it('counts a chain of the same plan for two keys as two', async () => {
      const plan = bucketOf(3, 1);
      const chain = [limit(plan, 1, `${key}-a`), limit(plan, 2, `${key}-b`)];
      expect((await take(chain)).limits.map((one) => one.remaining)).toEqual([2, 1]);
    });

    it('holds the same lease id under different keys as different slots', async () => {
      const plan = slotsOf(1, 1_000);
      const other = `${key}-other`;
      await take([limit(plan)], 'a');
      expect((await take([limit(plan, 1, other)], 'a')).allowed).toBe(true);
      await release('a', limit(plan));
      expect((await take([limit(plan, 1, other)], 'b')).allowed).toBe(false);
    });

    it('tells apart keys that are names, numbers, separators or no text at all', async () => {
      const hostile = HOSTILE_KEYS.map((text) => limit(bucketOf(100, 0.01), 1, text));
      await sut.store.reset(hostile);
      // Each spends its own number of tokens, so that two that share would show.
      for (const [i, one] of hostile.entries()) await take([{ ...one, cost: i + 1 }]);
      const left = await Promise.all(hostile.map(remaining));
      await sut.store.reset(hostile);
      expect(left).toEqual(hostile.map((_, i) => 99 - i));
    });

    it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
      'counts for the key %s under every kind of plan',
      async (text) => {
        for (const kind of KINDS) {
          const one = limit(definePlan('three', THREE[kind]), 1, text);
          await sut.store.reset([one]);
          await exhaust(one);
          expect((await take([one])).allowed).toBe(false);
          await sut.store.reset([one]);
          expect(await remaining(one)).toBe(3);
        }
      },
    );

    it.each([
      [
        { plan: 'a', suffix: 'b:c' },
        { plan: 'a:b', suffix: 'c' },
      ],
      [
        { plan: 'a', suffix: '{b}:c' },
        { plan: 'a', suffix: 'b}:{c' },
      ],
      [
        { plan: 'a', suffix: 'a:a' },
        { plan: 'a:a', suffix: 'a' },
      ],
      [
        { plan: 'constructor', suffix: 'a' },
        { plan: 'toString', suffix: 'a' },
      ],
    ])('tells %j from %j', async (one, other) => {
      const [first, second] = [one, other].map(({ plan, suffix }) => {
        const named: Plan = { ...bucketOf(3, 1), name: plan };
        return { plan: named, key: suffix, cost: 1 };
      }) as [Limit, Limit];
      await sut.store.reset([first, second]);
      await exhaust(first);
      expect(await remaining(second)).toBe(3);
      await sut.store.reset([first]);
    });
  });
}

/** Keys that some store somewhere has stumbled over. */
const HOSTILE_KEYS = [
  '__proto__',
  'constructor',
  'prototype',
  'a',
  'A',
  'a ',
  ' a',
  'a\0',
  '\0a',
  '\0',
  'a\r\n',
  '\r\n',
  'a\n',
  '\r\nDEL a\r\n',
  '{a}',
  '{',
  '}',
  '{}',
  '{}a',
  '{a}b',
  '}{',
  'a:b',
  'a::b',
  ':a',
  'a:',
  '*',
  'a*',
  '?',
  '[a]',
  '😀',
  '😁',
  '\ud83d',
  '\ude00',
  '\ud800',
  '\udfff',
  '\ufffd',
  'é',
  'e\u0301',
  '0',
  '00',
  '-1',
  'NaN',
  'null',
  'undefined',
  'true',
  '%00',
  '../../a',
  '"a"',
  "'a'",
  'a'.repeat(200),
  'a'.repeat(199),
];

/** What can be seen of a decision from outside, without the moment it was made. */
function seen({ allowed, waitUs, limits }: Decision) {
  return {
    allowed,
    waitUs,
    admits: limits.map((one) => one.admits),
    remaining: limits.map((one) => one.remaining),
    waits: limits.map((one) => one.waitUs),
    resetUs: limits.map((one) => one.resetUs),
  };
}

/** The most that any interval gets above a full bucket and what comes back in it. */
function mostAboveAllowance(
  { quota, refill, periodUs }: TokenBucketPlan,
  turns: readonly { readonly atUs: number; readonly cost: number }[],
): number {
  const inOrder = [...turns].sort((a, b) => a.atUs - b.atUs);
  const excesses = inOrder.flatMap((first, i) => {
    let spent = 0;
    return inOrder.slice(i).map(({ atUs, cost }) => {
      spent += cost;
      return spent - quota - ((atUs - first.atUs) * refill) / periodUs;
    });
  });
  return Math.max(...excesses);
}
