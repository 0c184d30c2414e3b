import { beforeEach, describe, expect, it } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import type { HeldLease } from '../../lib/core/limit-store.js';
import { OwedReleases } from '../../lib/redis/owed-releases.js';

const SHORT = definePlan('short', { maxConcurrent: 1, leaseMs: 1_000 });
const LONG = definePlan('long', { maxConcurrent: 1, leaseMs: 5_000 });
const MAX_OWED = 10_000;

describe('leases that are owed to a server', () => {
  let owed: OwedReleases;

  beforeEach(() => {
    owed = new OwedReleases();
  });

  const lease = (leaseId: string, ...plans: (typeof SHORT)[]): HeldLease => ({
    leaseId,
    limits: plans.map((plan) => ({ plan, key: 'ada', cost: 1 })),
  });
  const idsOf = (node: string, nowMs: number) =>
    owed.take(node, nowMs).map(({ lease: { leaseId } }) => leaseId);

  it('are given back once, each to its server', () => {
    owed.add('one', lease('a', SHORT), 0);
    owed.add('other', lease('b', SHORT), 0);
    owed.add('one', lease('c', SHORT), 0);
    expect(owed.size).toBe(3);
    expect([idsOf('one', 500), idsOf('one', 500)]).toEqual([['a', 'c'], []]);
    expect(owed.size).toBe(1);
    expect([idsOf('other', 500), owed.size]).toEqual([['b'], 0]);
    expect(idsOf('unknown', 500)).toEqual([]);
  });

  it('are not given back once they have ended by themselves, the longest counts', () => {
    owed.add('', lease('short', SHORT), 100);
    owed.add('', lease('both', SHORT, LONG), 100);
    expect(idsOf('', 1_100)).toEqual(['both']);
    owed.add('', lease('short', SHORT), 100);
    expect(idsOf('', 1_099)).toEqual(['short']);
  });

  it('keep their end when giving them back failed', () => {
    owed.add('', lease('a', SHORT), 0);
    const [first] = owed.take('', 999);
    owed.addAgain(first!);
    expect(owed.size).toBe(1);
    expect(idsOf('', 1_000)).toEqual([]);
  });

  it('are ten thousand at most', () => {
    for (let i = 0; i < MAX_OWED + 5; i++) owed.add(`node-${i % 3}`, lease(`${i}`, SHORT), 0);
    expect(owed.size).toBe(MAX_OWED);
    expect(idsOf('node-0', 0)).toHaveLength(3_334);
    owed.add('node-0', lease('again', SHORT), 0);
    expect(idsOf('node-0', 0)).toEqual(['again']);
  });
});
