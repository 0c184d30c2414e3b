import { randomUUID } from 'node:crypto';
import type { Cluster } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import type { Inquiry, Limit, LimitStore } from '../../lib/core/limit-store.js';
import type { Plan } from '../../lib/core/plan.js';
import { connect, waitForReady } from '../../lib/redis/connect.js';
import { RedisKeys } from '../../lib/redis/redis-keys.js';
import type { RedisServers } from '../../lib/redis/redis-servers.js';
import { RedisStore } from '../../lib/redis/redis-store.js';
import { serversOf } from '../../lib/redis/servers-of.js';
import { SlotSplitStore } from '../../lib/redis/slot-split-store.js';
import { describeWithServers } from '../support/describe-with-servers.js';
import { FakeClock } from '../support/fake-clock.js';
import { sharedRedis } from '../support/redis-servers.js';

const USER = definePlan('user', { capacity: 3, tokensPerSecond: 1 });
const TOTAL = definePlan('total', { capacity: 5, tokensPerSecond: 1 });
const WINDOW = definePlan('window', { limit: 5, windowMs: 1_000 });
const SLOTS = definePlan('slots', { maxConcurrent: 2, leaseMs: 10_000 });

describeWithServers('cluster', 'a chain over several slots of a cluster', () => {
  const keys = new RedisKeys();
  let client: Cluster;
  let servers: RedisServers;
  let clock: FakeClock;
  let store: LimitStore;
  let world: string;

  beforeAll(async () => {
    client = connect(sharedRedis.cluster) as Cluster;
    servers = serversOf(client);
    await waitForReady(client, 5_000);
  });

  afterAll(() => servers.close());

  beforeEach(() => {
    clock = new FakeClock(1_800_000_000_000_003);
    const redis = new RedisStore(servers, { nowUs: () => clock.nowUs() });
    store = new SlotSplitStore(redis, slotOf);
    world = randomUUID();
  });

  function slotOf(limit: Limit): number {
    return servers.slotOf(keys.nameOf(limit));
  }

  function limit(plan: Plan, key: string, cost = 1): Limit {
    return { plan, key: `${world}-${key}`, cost };
  }

  function ask(limits: readonly Limit[], rest: Partial<Inquiry> = {}) {
    return store.decide({ limits, mode: 'take', maxWaitUs: 0, leaseId: 'lease', ...rest });
  }

  async function left(one: Limit): Promise<number> {
    return (await ask([one], { mode: 'peek' })).limits[0]!.remaining;
  }

  it('lives on several servers', () => {
    const nodes = Array.from({ length: 100 }, (_, i) =>
      servers.nodeOf(slotOf(limit(USER, `key-${i}`))),
    );
    expect(new Set(nodes).size).toBe(3);
  });

  it('is charged everywhere when all admit, and answered in the order it was asked', async () => {
    const chain = [limit(TOTAL, 'all'), limit(USER, 'ada'), limit(WINDOW, 'eve')];
    const { allowed, waitUs, limits } = await ask(chain);
    expect({ allowed, waitUs }).toEqual({ allowed: true, waitUs: 0 });
    expect(limits.map((one) => [one.limit.plan.name, one.remaining])).toEqual([
      ['total', 4],
      ['user', 2],
      ['window', 4],
    ]);
  });

  it('is charged nowhere when one denies, whichever it is', async () => {
    const chain = [limit(TOTAL, 'all', 5), limit(USER, 'ada', 2), limit(SLOTS, 'eve')];
    expect((await ask(chain)).allowed).toBe(true);
    for (const extra of [limit(WINDOW, 'bob', 2), limit(USER, 'bob', 2), limit(SLOTS, 'bob')]) {
      const denied = await ask([extra, limit(TOTAL, 'all', 2)], { leaseId: 'other' });
      expect(denied).toMatchObject({ allowed: false, waitUs: 2_000_000 });
      expect(denied.limits.map(({ admits }) => admits)).toEqual([true, false]);
      expect(await left(extra)).toBe(extra.plan.quota);
    }
    expect(await left(limit(USER, 'ada'))).toBe(1);
  });

  it('leaves what it gave back all of as it was, under a key that expires', async () => {
    await ask([limit(TOTAL, 'all', 5)]);
    const user = limit(USER, 'ada');
    expect((await ask([user, limit(TOTAL, 'all')])).allowed).toBe(false);
    expect(await left(user)).toBe(USER.quota);
    expect(await client.pttl(keys.nameOf(user))).toBeGreaterThan(0);
  });

  it('asks the smallest quota first, so that least has to be given back', async () => {
    await ask([limit(USER, 'ada', 3)]);
    const denied = await ask([limit(TOTAL, 'all'), limit(USER, 'ada')]);
    expect(denied.limits.map(({ remaining }) => remaining)).toEqual([5, 0]);
    expect(denied.waitUs).toBe(1_000_000);
  });

  it('looks without spending', async () => {
    const chain = [limit(TOTAL, 'all'), limit(USER, 'ada')];
    const seen = await ask(chain, { mode: 'peek' });
    expect(seen.limits.map(({ remaining }) => remaining)).toEqual([5, 3]);
    expect(await left(chain[0]!)).toBe(5);
  });

  it('books a turn in each, and cancels each by its own time', async () => {
    const chain = [limit(TOTAL, 'all', 5), limit(USER, 'ada', 3)];
    await ask(chain);
    const turn = await ask(chain, { mode: 'reserve', maxWaitUs: 10_000_000 });
    expect(turn).toMatchObject({ allowed: true, waitUs: 5_000_000 });
    await store.giveBack({ kind: 'cancel', decision: turn, leaseId: 'lease' });
    clock.advanceUs(1_000_000);
    expect(await left(chain[0]!)).toBe(1);
    expect(await left(chain[1]!)).toBe(1);
  });

  it('cancels what it booked when a later one denies', async () => {
    const chain = [limit(TOTAL, 'all', 5), limit(USER, 'ada', 3)];
    await ask(chain);
    const denied = await ask(chain, { mode: 'reserve', maxWaitUs: 4_000_000 });
    expect(denied.allowed).toBe(false);
    clock.advanceUs(1_000_000);
    expect(await left(chain[1]!)).toBe(1);
  });

  it('cancels a decision that was wrapped meanwhile', async () => {
    const chain = [limit(TOTAL, 'all', 2), limit(USER, 'ada', 2)];
    const turn = await ask(chain, { mode: 'reserve', maxWaitUs: 1_000_000 });
    await store.giveBack({ kind: 'cancel', decision: { ...turn }, leaseId: 'lease' });
    expect(await left(chain[0]!)).toBe(5);
    expect(await left(chain[1]!)).toBe(3);
  });

  it('refunds, renews, releases and resets over slots', async () => {
    const [ada, bob, total] = [limit(SLOTS, 'ada'), limit(SLOTS, 'bob'), limit(TOTAL, 'all')];
    await ask([ada, bob, total]);
    expect(await store.renew([{ leaseId: 'lease', limits: [ada, bob] }])).toEqual([true]);
    await store.giveBack({ kind: 'release', limits: [bob], leaseId: 'lease' });
    const held = [
      { leaseId: 'lease', limits: [ada, bob] },
      { leaseId: 'lease', limits: [ada] },
    ];
    expect(await store.renew(held)).toEqual([false, true]);
    await store.giveBack({ kind: 'refund', limits: [total] });
    expect(await left(total)).toBe(5);
    await ask([total, limit(USER, 'eve', 3)]);
    await store.reset([total, limit(USER, 'eve'), ada]);
    expect(await left(total)).toBe(5);
    expect(await left(limit(USER, 'eve'))).toBe(3);
    expect(await left(ada)).toBe(2);
  });
});
