import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import { RedisStore } from '../../lib/redis/redis-store.js';
import type { RedisServers } from '../../lib/redis/redis-servers.js';
import { serversOf } from '../../lib/redis/servers-of.js';
import { describeWithServers } from '../support/describe-with-servers.js';
import { createFarm } from '../support/redis-servers.js';
import type { Flooded } from './flooders.js';
import { Flooders } from './flooders.js';

const PROCESSES = 8;
const SECOND_US = 1_000_000;

const PLANS = {
  fast: { capacity: 500, tokensPerSecond: 1_000 },
  // What comes back while the test runs is far less than a token, so that every charge shows.
  gold: { capacity: 2_000, tokensPerSecond: 0.000_1 },
  daily: { limit: 1_500, windowMs: 86_400_000 },
  everybody: { limit: 5_000, windowMs: 86_400_000 },
};
type PlanName = keyof typeof PLANS;

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);

/** Nobody was answered by anything but Redis, or by what Redis had said. */
function expectDecidedByRedis(flooded: readonly Flooded[]): void {
  const reasons = new Set(flooded.flatMap(({ answers }) => Object.keys(answers)));
  expect([...reasons].sort()).toEqual(['ALLOWED', 'LIMIT_EXCEEDED']);
}

describeWithServers('native server', 'eight processes on one Redis', () => {
  const farm = createFarm();
  let client: Redis;
  let servers: RedisServers;
  let flooders: Flooders;

  beforeAll(async () => {
    const { url } = await farm.single();
    client = new Redis(url);
    servers = serversOf(client);
    // Ten busy processes on few processors wait for each other longer than any usual deadline.
    flooders = await Flooders.start(PROCESSES, { redis: url, plans: PLANS, deadlineMs: 10_000 });
  }, 60_000);

  afterAll(async () => {
    flooders.stop();
    servers.close();
    await farm.stop();
  });

  /** What Redis holds as spent, asked of the store itself. */
  async function spent(plan: PlanName, key: string): Promise<number> {
    const limit = { plan: definePlan(plan, PLANS[plan]), key, cost: 1 };
    const store = new RedisStore(servers);
    const inquiry = { limits: [limit], mode: 'peek', maxWaitUs: 0, leaseId: '' } as const;
    const { limits } = await store.decide(inquiry);
    return limit.plan.quota - limits[0]!.remaining;
  }

  it('are never let through too often on one key, and get nearly all there is', async () => {
    const requests = [{ key: 'one', plans: 'fast', tokens: 1 }];
    const flooded = await flooders.flood(() => ({ requests, callers: 8, milliseconds: 2_000 }));
    expectDecidedByRedis(flooded);
    const admitted = sum(flooded.map((one) => sum(one.admitted)));
    const fromUs = Math.min(...flooded.map((one) => one.fromUs));
    const toUs = Math.max(...flooded.map((one) => one.toUs));
    const { capacity, tokensPerSecond } = PLANS.fast;
    const most = capacity + (tokensPerSecond * (toUs - fromUs)) / SECOND_US;
    expect(admitted).toBeLessThanOrEqual(most);
    expect(admitted).toBeGreaterThanOrEqual(0.95 * most);
  }, 60_000);

  it('are charged by both plans of a chain or by none', async () => {
    const requests = [1, 2, 3].map((tokens) => ({ key: 'two', plans: ['gold', 'daily'], tokens }));
    const task = { requests, callers: 8, milliseconds: 500, untilDenied: true };
    const flooded = await flooders.flood(() => task);
    expectDecidedByRedis(flooded);
    const admitted = sum(flooded.map((one) => sum(one.admitted)));
    expect(admitted).toBe(PLANS.daily.limit);
    expect(await spent('daily', 'two')).toBe(admitted);
    expect(await spent('gold', 'two')).toBe(admitted);
  }, 60_000);

  it('are charged by a plan of their own and a shared one or by none, whichever denies', async () => {
    // Some share a key whose plan is spent before the shared one is, the others do not.
    const keyOf = (process: number) => (process < 6 ? 'crowd' : `alone-${process}`);
    const plans = [{ plan: 'everybody', key: 'all' }, 'gold'];
    const flooded = await flooders.flood((process) => ({
      requests: [{ key: keyOf(process), plans, tokens: 1 }],
      callers: process < 6 ? 8 : 2,
      ...{ milliseconds: 500, untilDenied: true },
    }));
    expectDecidedByRedis(flooded);
    const admitted = new Map<string, number>();
    flooded.forEach((one, process) => {
      const key = keyOf(process);
      admitted.set(key, (admitted.get(key) ?? 0) + sum(one.admitted));
    });
    for (const [key, tokens] of admitted)
      expect([key, await spent('gold', key)]).toEqual([key, tokens]);
    expect(admitted.get('crowd')).toBe(PLANS.gold.capacity);
    expect(sum([...admitted.values()])).toBe(PLANS.everybody.limit);
    expect(await spent('everybody', 'all')).toBe(PLANS.everybody.limit);
  }, 60_000);
});
