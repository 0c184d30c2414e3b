import { describe, expect, it } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import type { Limit } from '../../lib/core/limit-store.js';
import { DEFAULT_MAX_LIMITS, MemoryStore } from '../../lib/memory/memory-store.js';
import { limitStoreContract } from '../contract/limit-store.contract.js';
import { FakeClock } from '../support/fake-clock.js';

limitStoreContract('a memory store', () => {
  const clock = new FakeClock();
  const store = new MemoryStore(clock);
  return { store, advanceUs: (us) => clock.advanceUs(us), close: () => store.close() };
});

/** Full again after a day. */
const SLOW = definePlan('slow', '10/day');
/** Full again after 10 ms for every token. */
const FAST = definePlan('fast', { capacity: 10, tokensPerSecond: 100 });
const SLOTS = definePlan('slots', { maxConcurrent: 2, leaseMs: 1_000 });

const slow = (key: string, cost = 1): Limit => ({ plan: SLOW, key, cost });
const fast = (key: string, cost = 1): Limit => ({ plan: FAST, key, cost });
const slots = (key: string): Limit => ({ plan: SLOTS, key, cost: 1 });

function createStore(maxLimits?: number) {
  const clock = new FakeClock();
  const store = new MemoryStore(clock, maxLimits);
  const decide = (mode: 'take' | 'peek', limits: readonly Limit[], leaseId: string) =>
    store.decide({ limits, mode, maxWaitUs: 0, leaseId });
  return {
    clock,
    store,
    take: (...limits: readonly Limit[]) => decide('take', limits, 'lease'),
    peek: (...limits: readonly Limit[]) => decide('peek', limits, ''),
    /** Whether something that was spent is remembered. Looking counts as a use. */
    remembers: (one: Limit) => decide('peek', [one], '').limits[0]!.remaining < one.plan.quota,
  };
}

describe('the memory of a memory store', () => {
  it('holds no more limits than it may', () => {
    const { store, take } = createStore(10);
    const sizes = Array.from({ length: 100 }, (_, i) => {
      take(slow(`key-${i}`), fast(`key-${i}`));
      return store.size;
    });
    expect(Math.max(...sizes)).toBe(10);
    expect(store.size).toBe(10);
  });

  it('holds a hundred thousand limits unless told otherwise', () => {
    const { store, take } = createStore();
    for (let i = 0; i < DEFAULT_MAX_LIMITS + 10; i++) take(slow(`key-${i}`));
    expect(DEFAULT_MAX_LIMITS).toBe(100_000);
    expect(store.size).toBe(100_000);
  });

  it('forgets the least recently used first', () => {
    const { clock, take, remembers } = createStore(3);
    for (const key of ['a', 'b', 'c', 'a']) {
      take(slow(key));
      clock.advanceMs(2_000);
    }
    take(slow('d'));
    expect(['a', 'b', 'c', 'd'].map((key) => remembers(slow(key)))).toEqual([
      true,
      false,
      true,
      true,
    ]);
  });

  it('goes on forgetting in the order of use', () => {
    const { clock, take, remembers } = createStore(3);
    for (const key of ['a', 'b', 'c', 'b', 'd', 'b', 'e']) {
      take(slow(key));
      clock.advanceMs(2_000);
    }
    expect(['a', 'b', 'c', 'd', 'e'].map((key) => remembers(slow(key)))).toEqual([
      false,
      true,
      false,
      true,
      true,
    ]);
  });

  it('counts a look and a denial as a use', () => {
    const { clock, take, peek, remembers } = createStore(3);
    for (const key of ['a', 'b', 'c']) take(slow(key, 10));
    clock.advanceMs(2_000);
    peek(slow('a'));
    take(slow('b'));
    take(slow('d'));
    expect(['a', 'b', 'c', 'd'].map((key) => remembers(slow(key)))).toEqual([
      true,
      true,
      false,
      true,
    ]);
  });

  it.each([
    { pauseUs: 1_000_000, forgotten: 'a' },
    { pauseUs: 2_000_000, forgotten: 'b' },
  ])(
    'keeps the order of use to a second or two: used again after $pauseUs µs, "$forgotten" goes',
    ({ pauseUs, forgotten }) => {
      const { clock, take, remembers } = createStore(2);
      take(slow('a'));
      take(slow('b'));
      clock.advanceUs(pauseUs);
      take(slow('a'));
      take(slow('c'));
      expect(['a', 'b'].filter((key) => !remembers(slow(key)))).toEqual([forgotten]);
    },
  );

  it('forgets what has expired before what is in use, even if that is older', () => {
    const { clock, take, remembers, store } = createStore(3);
    take(slow('older'));
    clock.advanceMs(2_000);
    take(slow('old'));
    clock.advanceMs(2_000);
    take(fast('expired'));
    clock.advanceMs(10);
    take(slow('new'));
    expect(store.size).toBe(3);
    expect(['older', 'old', 'new'].map((key) => remembers(slow(key)))).toEqual([true, true, true]);
  });

  it('passes over slots that are held, whatever is older', () => {
    const clock = new FakeClock();
    const store = new MemoryStore(clock, 100);
    const slot = { plan: definePlan('slot', { maxConcurrent: 1 }), key: 'held', cost: 1 };
    const take = (limits: readonly Limit[], leaseId: string) =>
      store.decide({ limits, mode: 'take', maxWaitUs: 0, leaseId });
    expect(take([slot], 'holder').allowed).toBe(true);
    clock.advanceMs(5_000);
    const daily = definePlan('daily', '10/day');
    for (let i = 0; i < 200; i++) take([{ plan: daily, key: `invented-${i}`, cost: 1 }], '');
    expect(store.size).toBe(100);
    expect(take([slot], 'another').allowed).toBe(false);
  });

  it('takes nothing for expired a microsecond before it is', () => {
    const { clock, take, remembers } = createStore(2);
    take(slow('older'));
    take(fast('nearly expired'));
    clock.advanceUs(9_999);
    take(slow('new'));
    expect([remembers(slow('older')), remembers(slow('new'))]).toEqual([false, true]);
  });

  it('knows that what was used again expires later', () => {
    const { clock, take, remembers } = createStore(3);
    take(slow('oldest'));
    take(fast('used again'));
    take(fast('left alone', 2));
    clock.advanceMs(5);
    take(fast('used again', 5));
    clock.advanceMs(20);
    take(slow('new'));
    expect(remembers(fast('used again'))).toBe(true);
    expect(remembers(slow('oldest'))).toBe(true);
  });

  it('knows that a lease that was renewed expires later', () => {
    const { clock, store, take, remembers } = createStore(2);
    take(slots('renewed'));
    take(slots('left alone'));
    clock.advanceMs(900);
    expect(store.renew([{ leaseId: 'lease', limits: [slots('renewed')] }])).toEqual([true]);
    clock.advanceMs(200);
    take(slow('new'));
    expect(remembers(slots('renewed'))).toBe(true);
  });

  it('knows that a turn booked ahead keeps its bucket in use', () => {
    const { clock, store, take, peek, remembers } = createStore(2);
    take(slow('older'));
    take(fast('booked', 10));
    const limits = [fast('booked', 10)];
    store.decide({ limits, mode: 'reserve', maxWaitUs: 1e9, leaseId: '' });
    clock.advanceMs(199);
    take(slow('new'));
    expect([remembers(slow('older')), remembers(fast('booked'))]).toEqual([false, true]);
    expect(peek(fast('booked', 10))).toMatchObject({ allowed: false, waitUs: 1_000 });
  });

  it('is not flooded: new keys push out no bucket in use while there are expired ones', () => {
    const { clock, take, store, remembers } = createStore(20);
    const used = Array.from({ length: 5 }, (_, i) => slow(`user-${i}`));
    for (const one of used) take(one);
    for (let i = 0; i < 5_000; i++) {
      take(fast(`flood-${i}`));
      clock.advanceMs(1);
    }
    expect(store.size).toBe(20);
    expect(used.map(remembers)).toEqual([true, true, true, true, true]);
  });

  it('is not flooded by chains of a new key and a shared bucket that is always full again', () => {
    const { clock, take, store, remembers } = createStore(50);
    const used = Array.from({ length: 5 }, (_, i) => slow(`user-${i}`));
    for (const one of used) take(one);
    for (let i = 0; i < 500; i++) {
      take(fast(`flood-${i}`), fast('shared'));
      clock.advanceMs(10);
    }
    expect(store.size).toBe(50);
    expect(used.map(remembers)).toEqual([true, true, true, true, true]);
  });

  it('is not flooded when many buckets were used since they were filed', () => {
    const { clock, take, store, remembers } = createStore(300);
    const used = Array.from({ length: 100 }, (_, i) => fast(`user-${i}`));
    for (const one of used) take(one);
    for (let i = 0; i < 200; i++) take(fast(`flood-${i}`, 2));
    for (const one of used) take({ ...one, cost: 9 });
    clock.advanceMs(30);
    for (let i = 0; i < 200; i++) take(slow(`new-${i}`));
    expect(store.size).toBe(300);
    expect(used.filter((one) => !remembers(one))).toEqual([]);
  });

  it('forgets what expired a minute ago as new limits come, without being full', () => {
    const { clock, take, store } = createStore();
    for (let i = 0; i < 100; i++) take(fast(`early-${i}`));
    clock.advanceMs(60_009);
    for (let i = 0; i < 50; i++) take(fast(`new-${i}`));
    expect(store.size).toBe(150);
    clock.advanceMs(1);
    for (let i = 0; i < 100; i++) take(fast(`newer-${i}`));
    expect(store.size).toBe(150);
  });

  it('forgets what is idle though nothing new comes: a minute after it expired, once a second', () => {
    const { clock, take, store } = createStore();
    take(slow('busy'));
    for (let i = 0; i < 100; i++) take(fast(`idle-${i}`));
    clock.advanceMs(60_009);
    take(slow('busy'));
    expect(store.size).toBe(101);
    clock.advanceMs(1);
    take(slow('busy'));
    expect(store.size).toBe(101);
    clock.advanceMs(1_000);
    take(slow('busy'));
    expect(store.size).toBe(1);
  });

  it('forgets at most two thousand idle limits a second', () => {
    const { clock, take, store } = createStore();
    for (let i = 0; i < 5_000; i++) take(fast(`idle-${i}`));
    clock.advanceMs(120_000);
    const sizes = [0, 1, 2, 3].map(() => {
      take(slow('busy'));
      const { size } = store;
      clock.advanceMs(1_000);
      return size;
    });
    expect(sizes).toEqual([3_000, 1_000, 1, 1]);
  });

  it('gives a limit that was forgotten its whole quota', () => {
    const { take } = createStore(1);
    take(slow('a', 10));
    expect(take(slow('a')).allowed).toBe(false);
    take(slow('b'));
    expect(take(slow('a', 10)).allowed).toBe(true);
  });

  it.each([
    { position: 'behind', pauseMs: 70_000 },
    { position: 'before', pauseMs: 70_000 },
    { position: 'behind', pauseMs: 500 },
    { position: 'before', pauseMs: 500 },
  ])(
    'charges a limit that was idle for $pauseMs ms $position a new one, room or no room',
    ({ position, pauseMs }) => {
      for (const maxLimits of [100, 3, 2]) {
        const { clock, take, peek } = createStore(maxLimits);
        take(fast('idle'), slots('idle'));
        clock.advanceMs(pauseMs);
        const idle = fast('idle', 10);
        const chain = position === 'behind' ? [slow('new'), idle] : [idle, slow('new')];
        expect(take(...chain).allowed).toBe(true);
        expect(peek(idle)).toMatchObject({ allowed: false, waitUs: 100_000 });
      }
    },
  );

  it('lends a slot that was idle for over a minute behind a new limit', () => {
    const { clock, take, peek } = createStore();
    const single = { ...slots('idle'), plan: { ...SLOTS, quota: 1 } };
    take(single);
    clock.advanceMs(70_000);
    expect(take(slow('new'), single).allowed).toBe(true);
    expect(peek(single).allowed).toBe(false);
  });

  it('answers the same whether it has forgotten a restored bucket or not', () => {
    const left = [1, 2].map((maxLimits) => {
      const { clock, take, peek } = createStore(maxLimits);
      take(fast('restored'));
      clock.advanceMs(10);
      take(fast('other'));
      return peek(fast('restored')).limits[0]!.remaining;
    });
    expect(left).toEqual([FAST.quota, FAST.quota]);
  });

  it('remembers nothing of a request that is denied', () => {
    const { take, store } = createStore();
    take(slow('spent', 10));
    expect(take(slow('spent'), fast('new'), slots('new')).allowed).toBe(false);
    expect(take(slow('too much', 11)).allowed).toBe(false);
    expect(store.size).toBe(1);
  });

  it('remembers nothing of a request that only looks', () => {
    const { peek, store } = createStore();
    expect(peek(slow('a'), fast('a'), slots('a')).allowed).toBe(true);
    expect(store.size).toBe(0);
  });

  it('remembers nothing of a booking that would take too long', () => {
    const { take, store } = createStore();
    take(slow('a', 10));
    const limits = [slow('a'), fast('a')];
    const decision = store.decide({ limits, mode: 'reserve', maxWaitUs: 1_000, leaseId: '' });
    expect(decision.allowed).toBe(false);
    expect(store.size).toBe(1);
  });

  it('remembers nothing of a shadow plan that was not charged', () => {
    const { take, store } = createStore();
    expect(take({ plan: { ...SLOW, shadow: true }, key: 'a', cost: 11 }).allowed).toBe(true);
    expect(store.size).toBe(0);
  });

  it('remembers nothing of what is given back or renewed without having been taken', () => {
    const { peek, store } = createStore();
    const limits = [slow('a'), slots('a')];
    store.giveBack({ kind: 'refund', limits });
    store.giveBack({ kind: 'release', limits, leaseId: 'lease' });
    store.giveBack({ kind: 'cancel', decision: peek(...limits), leaseId: 'lease' });
    expect(store.renew([{ leaseId: 'lease', limits: [slots('a')] }])).toEqual([false]);
    expect(store.size).toBe(0);
  });

  it('forgets at once what is reset', () => {
    const { take, store } = createStore();
    take(slow('a'), slow('b'), fast('a'), slots('a'));
    store.reset([slow('a'), slots('a'), slow('unknown')]);
    expect(store.size).toBe(2);
  });

  it('stays in order through resets and evictions', () => {
    const { clock, take, store, remembers } = createStore(3);
    for (const key of ['a', 'b', 'c']) {
      take(slow(key));
      clock.advanceMs(2_000);
    }
    store.reset([slow('b')]);
    take(slow('d'));
    take(slow('e'));
    expect(['a', 'b', 'c', 'd', 'e'].map((key) => remembers(slow(key)))).toEqual([
      false,
      false,
      true,
      true,
      true,
    ]);
    store.reset([slow('c'), slow('d'), slow('e')]);
    expect(store.size).toBe(0);
    take(slow('f'));
    expect(remembers(slow('f'))).toBe(true);
  });

  it('answers at once, without a promise', () => {
    const { take } = createStore();
    expect(take(slow('a'))).toMatchObject({ allowed: true });
  });

  it('starts no timer', () => {
    const before = process.getActiveResourcesInfo().sort();
    const { clock, take, store } = createStore(5);
    for (let i = 0; i < 50; i++) {
      take(slow(`key-${i}`), fast(`key-${i}`), slots(`key-${i}`));
      clock.advanceMs(1);
    }
    store.renew([{ leaseId: 'lease', limits: [slots('key-49')] }]);
    expect(process.getActiveResourcesInfo().sort()).toEqual(before);
  });
});
