import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import type { Decision, Inquiry, LimitStore, Return } from '../../lib/core/limit-store.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import type { RedisServers } from '../../lib/redis/redis-servers.js';
import { serversOf } from '../../lib/redis/servers-of.js';
import { RedisStore } from '../../lib/redis/redis-store.js';
import { expectAllKeysExpire } from '../support/expect-all-keys-expire.js';
import { FakeClock } from '../support/fake-clock.js';
import { sharedRedis } from '../support/redis-servers.js';

const RUNS = Number(process.env['FAST_CHECK_RUNS'] ?? 300);

const PLANS = [
  definePlan('small', { capacity: 3, tokensPerSecond: 1.7 }),
  definePlan('large', { capacity: 1_000, tokensPerSecond: 333.3 }),
  definePlan('slow', '5/day'),
  definePlan('window', { limit: 7, windowMs: 1_300 }),
  definePlan('minute', { limit: 1_000, windowMs: 60_000 }),
  definePlan('slots', { maxConcurrent: 2, leaseMs: 1_000 }),
  definePlan('shadow', { capacity: 2, tokensPerSecond: 0.5, shadow: true }),
] as const;

const step = fc.record({
  plans: fc.subarray([0, 1, 2, 3, 4, 5, 6], { minLength: 1, maxLength: 4 }),
  key: fc.constantFrom('a', 'b'),
  cost: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 1_100 })),
  mode: fc.constantFrom<Inquiry['mode']>('take', 'take', 'take', 'peek', 'reserve'),
  maxWaitUs: fc.constantFrom(0, 500_000, 5_000_000),
  pauseUs: fc.oneof(fc.constant(0), fc.integer({ max: 3_000_000, min: 0 })),
  back: fc.constantFrom<Return['kind'] | 'renew' | 'reset' | undefined>(
    undefined,
    undefined,
    'refund',
    'release',
    'cancel',
    'renew',
    'reset',
  ),
});

let client: Redis;
let servers: RedisServers;

beforeAll(() => {
  client = new Redis(sharedRedis.url);
  servers = serversOf(client);
});

afterAll(async () => {
  await expectAllKeysExpire(client);
  servers.close();
});

/** What a store says, without the objects that it says it about. */
function said({ allowed, waitUs, limits }: Decision) {
  const each = limits.map(({ admits, remaining, waitUs: own, resetUs }) => [
    admits,
    remaining,
    own,
    resetUs,
  ]);
  return { allowed, waitUs, each };
}

it('decides in Redis as it does in memory, whatever the sequence', async () => {
  const same = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
    const clock = new FakeClock(1_800_000_000_000_007);
    const memory: LimitStore = new MemoryStore(clock);
    const redis: LimitStore = new RedisStore(servers, { nowUs: () => clock.nowUs() });
    const world = randomUUID();
    let number = 0;
    for (const { plans, key, cost, mode, maxWaitUs, pauseUs, back } of steps) {
      clock.advanceUs(pauseUs);
      const limits = plans.map((i) => ({ plan: PLANS[i]!, key: `${world}-${key}`, cost }));
      const leaseId = `lease-${number++}`;
      const inquiry = { limits, mode, maxWaitUs, leaseId };
      const [one, other] = [await memory.decide(inquiry), await redis.decide(inquiry)];
      expect(said(other)).toEqual(said(one));
      const lent = limits.filter(({ plan }) => plan.kind === 'concurrency');
      for (const [store, decision] of [
        [memory, one],
        [redis, other],
      ] as const) {
        if (!decision.allowed || mode === 'peek') continue;
        if (back === 'refund') await store.giveBack({ kind: 'refund', limits });
        if (back === 'release') await store.giveBack({ kind: 'release', limits: lent, leaseId });
        if (back === 'cancel') await store.giveBack({ kind: 'cancel', decision, leaseId });
        if (back === 'renew') await store.renew([{ leaseId, limits: lent }]);
        if (back === 'reset') await store.reset(limits);
      }
    }
  });
  await fc.assert(same, { numRuns: RUNS });
}, 60_000);

const MIXED = [
  definePlan('mixed', { capacity: 8, tokensPerSecond: 2 }),
  definePlan('mixed', { capacity: 30, tokensPerSecond: 0.7 }),
  definePlan('mixed', { limit: 10, windowMs: 4_000 }),
  definePlan('mixed', { limit: 4, windowMs: 4_000 }),
  definePlan('mixed', { limit: 20, windowMs: 50_000 }),
  definePlan('mixed', { maxConcurrent: 3, leaseMs: 2_000 }),
] as const;

const mixedStep = fc.record({
  by: fc.constantFrom(0, 1),
  cost: fc.integer({ min: 1, max: 6 }),
  mode: fc.constantFrom<Inquiry['mode']>('take', 'take', 'take', 'peek'),
  pauseUs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 6_000_000 })),
  refunds: fc.nat(5).map((n) => n === 0),
});

it('decides in Redis as it does in memory while a plan has two definitions', async () => {
  const pair = fc.uniqueArray(fc.constantFrom(...MIXED), { minLength: 2, maxLength: 2 });
  const all = fc.array(mixedStep, { minLength: 5, maxLength: 40 });
  const same = fc.asyncProperty(pair, all, async (plans, steps) => {
    const clock = new FakeClock(1_800_000_000_000_007);
    const stores: LimitStore[] = [
      new MemoryStore(clock),
      new RedisStore(servers, { nowUs: () => clock.nowUs(), keyPrefix: randomUUID() }),
    ];
    let number = 0;
    for (const { by, cost, mode, pauseUs, refunds } of steps) {
      clock.advanceUs(pauseUs);
      const limits = [{ plan: plans[by]!, key: 'a', cost }];
      const leaseId = `lease-${number++}`;
      const heard: unknown[] = [];
      for (const store of stores) {
        const decision = await store.decide({ limits, mode, maxWaitUs: 0, leaseId });
        heard.push(said(decision));
        if (!refunds || !decision.allowed || mode === 'peek') continue;
        heard.push(await store.giveBack({ kind: 'refund', limits, decision }));
      }
      const half = heard.length / 2;
      expect(heard.slice(half)).toEqual(heard.slice(0, half));
    }
  });
  await fc.assert(same, { numRuns: RUNS, interruptAfterTimeLimit: 30_000 });
}, 60_000);
