import { beforeEach, describe, expect, it } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import type { Decision, Inquiry, Limit } from '../../lib/core/limit-store.js';
import type { Plan } from '../../lib/core/plan.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { DenyCache } from '../../lib/redis/deny-cache.js';
import { limitStoreContract } from '../contract/limit-store.contract.js';
import { FakeClock } from '../support/fake-clock.js';

class CountingStore extends MemoryStore {
  asked = 0;

  override decide(inquiry: Inquiry): Decision {
    this.asked++;
    return super.decide(inquiry);
  }
}

limitStoreContract('a deny cache', () => {
  const clock = new FakeClock();
  return {
    store: new DenyCache(new MemoryStore(clock), () => clock.nowUs()),
    advanceUs: (us) => clock.advanceUs(us),
    close: () => undefined,
  };
});

describe('a key that was denied', () => {
  const gold = definePlan('gold', { capacity: 5, tokensPerSecond: 1 });
  const daily = definePlan('daily', '100/day');
  let clock: FakeClock;
  let store: CountingStore;
  let cache: DenyCache;

  const limit = (plan: Plan, cost: number, key = 'ada'): Limit => ({ plan, key, cost });
  const take = (...limits: Limit[]) =>
    cache.decide({ limits, mode: 'take', maxWaitUs: 0, leaseId: '' });

  beforeEach(async () => {
    clock = new FakeClock();
    store = new CountingStore(clock);
    cache = new DenyCache(store, () => clock.nowUs());
    await take(limit(gold, 5));
    await take(limit(gold, 2), limit(daily, 2));
    store.asked = 0;
  });

  it('is denied again without asking, with the wait that is left, until it is over', async () => {
    clock.advanceMs(500);
    const denied = await take(limit(gold, 2), limit(daily, 2));
    expect(denied).toMatchObject({ allowed: false, waitUs: 1_500_000 });
    expect(denied.limits).toMatchObject([
      { admits: false, waitUs: 1_500_000 },
      { admits: true, remaining: 100 },
    ]);
    clock.advanceMs(1_499);
    expect((await take(limit(gold, 2), limit(daily, 2))).waitUs).toBe(1_000);
    expect(store.asked).toBe(0);
    clock.advanceMs(1);
    expect((await take(limit(gold, 2), limit(daily, 2))).allowed).toBe(true);
    expect(store.asked).toBe(1);
  });

  it('is asked about after ten seconds at the latest: others may have given it back', async () => {
    await take(limit(daily, 100));
    expect((await take(limit(daily, 50))).allowed).toBe(false);
    store.asked = 0;
    clock.advanceMs(9_999);
    expect((await take(limit(daily, 50))).allowed).toBe(false);
    expect(store.asked).toBe(0);
    clock.advanceMs(1);
    store.reset([limit(daily, 50)]);
    expect((await take(limit(daily, 50))).allowed).toBe(true);
  });

  it('is asked about for another cost, for another key, and for a look', async () => {
    clock.advanceMs(1_000);
    expect((await take(limit(gold, 1), limit(daily, 1))).allowed).toBe(true);
    expect((await take(limit(gold, 2, 'bob'))).allowed).toBe(true);
    await cache.decide({ limits: [limit(gold, 2)], mode: 'peek', maxWaitUs: 0, leaseId: '' });
    expect(store.asked).toBe(3);
  });

  it.each(['refund', 'reset', 'a changed plan'])('is asked about again after %s', async (what) => {
    if (what === 'refund') await cache.giveBack({ kind: 'refund', limits: [limit(gold, 2)] });
    if (what === 'reset') await cache.reset([limit(gold, 2)]);
    const plan = what === 'a changed plan' ? definePlan('gold', '50/s') : gold;
    await take(limit(plan, 2), limit(daily, 2));
    expect(store.asked).toBe(1);
  });
});
