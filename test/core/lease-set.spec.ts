import { describe, expect, it } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import { LeaseSet } from '../../lib/core/lease-set.js';
import type { ConcurrencyPlan } from '../../lib/core/plan.js';

const START_US = 5_000_000;
const LEASE_US = 1_000_000;

const planOf = (maxConcurrent: number, leaseMs = 1_000) =>
  definePlan('slots', { maxConcurrent, leaseMs }) as ConcurrencyPlan;

const PLAN = planOf(3);

/** Lends one slot to each of these, a tenth of a second apart. */
function lent(...leaseIds: readonly string[]): LeaseSet {
  const leases = new LeaseSet(PLAN, START_US);
  leaseIds.forEach((leaseId, i) => leases.lend(PLAN, leaseId, START_US + i * 100_000));
  return leases;
}

describe('a set of leases', () => {
  it('has every slot at first', () => {
    const leases = lent();
    expect(leases.remaining(PLAN, START_US)).toBe(3);
    expect(leases.waitUs(PLAN, 1, START_US)).toBe(0);
    expect(leases.resetUs(PLAN, START_US)).toBe(0);
  });

  it('waits for the lease that ends first when all slots are held', () => {
    const leases = lent('a', 'b', 'c');
    expect(leases.remaining(PLAN, START_US)).toBe(0);
    expect(leases.waitUs(PLAN, 1, START_US)).toBe(LEASE_US);
    expect(leases.waitUs(PLAN, 1, START_US + LEASE_US - 1)).toBe(1);
    expect(leases.waitUs(PLAN, 1, START_US + LEASE_US)).toBe(0);
  });

  it('frees each slot at the end of its lease', () => {
    const leases = lent('a', 'b', 'c');
    const at = [999_999, 1_000_000, 1_099_999, 1_100_000, 1_200_000, 9_000_000];
    expect(at.map((us) => leases.remaining(PLAN, START_US + us))).toEqual([0, 1, 1, 2, 3, 3]);
  });

  it('wants one slot, whatever the cost', () => {
    expect(lent('a', 'b').waitUs(PLAN, 1_000, START_US)).toBe(0);
  });

  it('lends no second slot under the same id, and runs the lease anew', () => {
    const leases = lent('a', 'b');
    leases.lend(PLAN, 'a', START_US + 500_000);
    expect(leases.remaining(PLAN, START_US + 500_000)).toBe(1);
    expect(leases.remaining(PLAN, START_US + 1_100_000)).toBe(2);
    expect(leases.remaining(PLAN, START_US + 1_500_000)).toBe(3);
  });

  it('knows which leases are held', () => {
    const leases = lent('a', 'b');
    leases.release('b');
    expect(leases.holds('a', START_US + LEASE_US - 1)).toBe(true);
    expect(leases.holds('a', START_US + LEASE_US)).toBe(false);
    expect(leases.holds('b', START_US)).toBe(false);
    expect(leases.holds('nobody', START_US)).toBe(false);
  });

  it('takes a slot back once', () => {
    const leases = lent('a', 'b');
    expect(leases.release('a')).toBe(true);
    expect(leases.release('a')).toBe(false);
    expect(leases.release('nobody')).toBe(false);
    expect(leases.remaining(PLAN, START_US)).toBe(2);
  });

  it.each(['__proto__', 'constructor', '', '\0'])('knows a lease by the id %j', (leaseId) => {
    const leases = lent(leaseId);
    expect(leases.remaining(PLAN, START_US)).toBe(2);
    expect(leases.renew(PLAN, leaseId, START_US)).toBe(true);
    expect(leases.release(leaseId)).toBe(true);
  });

  it('prolongs a lease that is renewed by its full length', () => {
    const leases = lent('a');
    expect(leases.renew(PLAN, 'a', START_US + LEASE_US - 1)).toBe(true);
    expect(leases.remaining(PLAN, START_US + 2 * LEASE_US - 2)).toBe(2);
    expect(leases.remaining(PLAN, START_US + 2 * LEASE_US - 1)).toBe(3);
  });

  it('does not renew a lease that has ended, was released or never was', () => {
    const leases = lent('a', 'b');
    leases.release('b');
    expect(leases.renew(PLAN, 'a', START_US + LEASE_US)).toBe(false);
    expect(leases.renew(PLAN, 'b', START_US)).toBe(false);
    expect(leases.renew(PLAN, 'nobody', START_US)).toBe(false);
    expect(leases.remaining(PLAN, START_US + LEASE_US)).toBe(3);
  });

  it('finds the first to end in whatever order leases were lent and renewed', () => {
    const leases = lent();
    leases.lend(PLAN, 'late', START_US + 900_000);
    leases.lend(PLAN, 'early', START_US);
    leases.lend(PLAN, 'middle', START_US + 500_000);
    expect(leases.waitUs(PLAN, 1, START_US)).toBe(1_000_000);
    leases.renew(PLAN, 'early', START_US + 700_000);
    expect(leases.waitUs(PLAN, 1, START_US + 700_000)).toBe(800_000);
    const at = [1_500_000, 1_700_000, 1_900_000];
    expect(at.map((us) => leases.remaining(PLAN, START_US + us))).toEqual([1, 2, 3]);
  });

  it('waits until enough leases have ended when slots were taken away', () => {
    const leases = lent('a', 'b', 'c');
    expect(leases.waitUs(planOf(2), 1, START_US)).toBe(1_100_000);
    expect(leases.waitUs(planOf(1), 1, START_US)).toBe(1_200_000);
    expect(leases.remaining(planOf(1), START_US)).toBe(0);
    leases.release('c');
    expect(leases.waitUs(planOf(1), 1, START_US)).toBe(1_100_000);
  });

  it('keeps telling which lease has to end, as slots that were taken away drain', () => {
    const leases = new LeaseSet(PLAN, START_US);
    const ends = new Map<string, number>();
    const few = planOf(3);
    let seed = 7;
    const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
    for (let i = 0; i < 2_000; i++) {
      const leaseId = `lease-${random(40)}`;
      const fromUs = START_US + random(1_000_000);
      if (random(3) === 0) {
        leases.release(leaseId);
        ends.delete(leaseId);
      } else {
        leases.lend(PLAN, leaseId, fromUs);
        ends.set(leaseId, fromUs + PLAN.leaseUs);
      }
      const inOrder = [...ends.values()].sort((one, other) => one - other);
      const awaited = inOrder[ends.size - few.quota];
      expect(leases.waitUs(few, 1, START_US)).toBe(awaited === undefined ? 0 : awaited - START_US);
    }
  });

  it.each([
    { why: 'leases were shortened', first: 60_000_000, released: false },
    { why: 'one that was booked far ahead was cancelled', first: 3_600_000_000, released: true },
  ])('lends as fast when $why', ({ first, released }) => {
    const HELD = 20_000;
    const many = { ...planOf(2 * HELD), leaseUs: 1_000_000 };
    /** Milliseconds to lend and release a thousand slots. */
    const lendMs = (leases: LeaseSet, nowUs: number) => {
      const beganMs = performance.now();
      for (let i = 0; i < 1_000; i++) {
        leases.lend(many, `more-${i}`, nowUs + i);
        leases.release(`more-${i}`);
      }
      return performance.now() - beganMs;
    };
    const held = (leases: LeaseSet) => {
      for (let i = 0; i < HELD; i++) leases.lend(many, `held-${i}`, START_US + i);
      return leases;
    };
    const shuffled = new LeaseSet(many, START_US);
    shuffled.lend({ ...many, leaseUs: first }, 'late', START_US);
    if (released) shuffled.release('late');
    const orderly = lendMs(held(new LeaseSet(many, START_US)), START_US + HELD);
    // A sort of all that are held takes more than a thousand times as long.
    expect(lendMs(held(shuffled), START_US + HELD)).toBeLessThan(100 * (orderly + 1));
  });

  it('tells when the last lease ends', () => {
    const leases = lent('a', 'b');
    expect(leases.resetUs(PLAN, START_US)).toBe(1_100_000);
    expect(leases.resetUs(PLAN, START_US + 1_099_999)).toBe(1);
    expect(leases.resetUs(PLAN, START_US + 1_100_000)).toBe(0);
  });

  it('has nothing to wait for when all were released', () => {
    const leases = lent('a', 'b');
    leases.release('a');
    leases.release('b');
    expect(leases.resetUs(PLAN, START_US)).toBe(0);
    expect(leases.waitUs(PLAN, 1, START_US)).toBe(0);
  });
});
