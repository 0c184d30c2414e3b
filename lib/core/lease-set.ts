import type { Counter } from './counter.js';
import type { ConcurrencyPlan } from './plan.js';

/**
 * The slots of a concurrency plan that are held: ids and when each lease ends, never a count, so
 * that a slot can be released twice, late or by a holder that died without any harm.
 */
export class LeaseSet implements Counter<ConcurrencyPlan> {
  readonly kind = 'concurrency';
  /** In order of expiry: the first to end is the first in the map. */
  #leases = new Map<string, number>();
  #latestUs = 0;

  /** Every slot is free. Takes what the other counters take, and needs none of it. */
  constructor(_plan: ConcurrencyPlan, _nowUs: number) {}

  /** Until a slot is free for sure. A release usually comes sooner; a renewal makes it later. */
  waitUs(plan: ConcurrencyPlan, _cost: number, nowUs: number): number {
    this.#dropEnded(nowUs);
    const surplus = this.#leases.size - plan.quota;
    return surplus < 0 ? 0 : this.#endOf(surplus) - nowUs;
  }

  /** Whether that lease is held: taking it again takes no other slot. */
  holds(leaseId: string, nowUs: number): boolean {
    return (this.#leases.get(leaseId) ?? 0) > nowUs;
  }

  remaining(plan: ConcurrencyPlan, nowUs: number): number {
    this.#dropEnded(nowUs);
    return Math.max(0, plan.quota - this.#leases.size);
  }

  resetUs(_plan: ConcurrencyPlan, nowUs: number): number {
    this.#dropEnded(nowUs);
    return this.#leases.size === 0 ? 0 : Math.max(0, this.#latestUs - nowUs);
  }

  /** Takes a slot. A lease that was reserved ahead runs from when its holder may act. */
  lend(plan: ConcurrencyPlan, leaseId: string, fromUs: number): void {
    this.#put(leaseId, fromUs + plan.leaseUs);
  }

  /** Gives a slot back. Returns whether it was still held. */
  release(leaseId: string): boolean {
    return this.#leases.delete(leaseId);
  }

  /** Prolongs a lease. Returns false when it has ended: its slot may be somebody else's by now. */
  renew(plan: ConcurrencyPlan, leaseId: string, nowUs: number): boolean {
    this.#dropEnded(nowUs);
    if (!this.#leases.has(leaseId)) return false;
    this.lend(plan, leaseId, nowUs);
    return true;
  }

  #put(leaseId: string, endsUs: number): void {
    this.#leases.delete(leaseId);
    this.#leases.set(leaseId, endsUs);
    const inOrder = endsUs >= this.#latestUs;
    this.#latestUs = Math.max(this.#latestUs, endsUs);
    // Only a plan whose leases were shortened while it ran, or a reservation, comes here.
    if (!inOrder) this.#leases = new Map([...this.#leases].sort(([, a], [, b]) => a - b));
  }

  #dropEnded(nowUs: number): void {
    for (const [leaseId, endsUs] of this.#leases) {
      if (endsUs > nowUs) return;
      this.#leases.delete(leaseId);
    }
  }

  #endOf(position: number): number {
    let index = 0;
    for (const endsUs of this.#leases.values()) if (index++ === position) return endsUs;
    return this.#latestUs;
  }
}
