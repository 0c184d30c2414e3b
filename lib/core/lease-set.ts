import type { Counter } from './counter.js';
import type { Due } from './due-heap.js';
import { DueHeap } from './due-heap.js';
import type { ConcurrencyPlan } from './plan.js';

/** A slot that is held, due when its lease ends. */
interface HeldSlot extends Due {
  readonly leaseId: string;
}

/**
 * The slots of a concurrency plan that are held: ids and when each lease ends, never a count, so
 * that a slot can be released twice, late or by a holder that died without any harm. Lending,
 * renewing and releasing cost the logarithm of what is held at most, in whatever order leases end.
 */
export class LeaseSet implements Counter<ConcurrencyPlan> {
  readonly kind = 'concurrency';
  readonly #slots = new Map<string, HeldSlot>();
  readonly #ends = new DueHeap<HeldSlot>();
  /** No lease ends later. Released leases may have made it too late. */
  #latestUs = 0;
  /** When each lease ends, in order; kept only while more slots are held than the plan has. */
  #order: number[] | undefined;

  /** Every slot is free. Takes what the other counters take, and needs none of it. */
  constructor(_plan: ConcurrencyPlan, _nowUs: number) {}

  /** Until a slot is free for sure. A release usually comes sooner; a renewal makes it later. */
  waitUs(plan: ConcurrencyPlan, _cost: number, nowUs: number): number {
    this.#dropEnded(nowUs);
    const surplus = this.#slots.size - plan.quota;
    if (surplus > 0) return this.#endOf(surplus) - nowUs;
    this.#order = undefined;
    return surplus < 0 ? 0 : this.#ends.first!.due - nowUs;
  }

  /** Whether that lease is held: taking it again takes no other slot. */
  holds(leaseId: string, nowUs: number): boolean {
    return (this.#slots.get(leaseId)?.due ?? 0) > nowUs;
  }

  remaining(plan: ConcurrencyPlan, nowUs: number): number {
    this.#dropEnded(nowUs);
    return Math.max(0, plan.quota - this.#slots.size);
  }

  resetUs(_plan: ConcurrencyPlan, nowUs: number): number {
    this.#dropEnded(nowUs);
    return this.#slots.size === 0 ? 0 : Math.max(0, this.#latestUs - nowUs);
  }

  /** Takes a slot. A lease that was reserved ahead runs from when its holder may act. */
  lend(plan: ConcurrencyPlan, leaseId: string, fromUs: number): void {
    this.release(leaseId);
    const slot = { leaseId, due: fromUs + plan.leaseUs, heapIndex: -1 };
    this.#slots.set(leaseId, slot);
    this.#ends.add(slot);
    this.#order?.splice(this.#positionOf(slot.due), 0, slot.due);
    this.#latestUs = this.#slots.size === 1 ? slot.due : Math.max(this.#latestUs, slot.due);
  }

  /** Gives a slot back. Returns whether it was still held. */
  release(leaseId: string): boolean {
    const slot = this.#slots.get(leaseId);
    if (!slot) return false;
    this.#ends.remove(slot);
    this.#order?.splice(this.#positionOf(slot.due), 1);
    return this.#slots.delete(leaseId);
  }

  /** Prolongs a lease. Returns false when it has ended: its slot may be somebody else's by now. */
  renew(plan: ConcurrencyPlan, leaseId: string, nowUs: number): boolean {
    this.#dropEnded(nowUs);
    if (!this.#slots.has(leaseId)) return false;
    this.lend(plan, leaseId, nowUs);
    return true;
  }

  /** Gives back the slots of a holder, by the beginning of their ids, whose leases end after that time. */
  releaseOf(prefix: string, afterUs: number): void {
    for (const { leaseId, due } of [...this.#slots.values()]) {
      if (due > afterUs && leaseId.startsWith(prefix)) this.release(leaseId);
    }
  }

  #dropEnded(nowUs: number): void {
    for (let { first } = this.#ends; first && first.due <= nowUs; { first } = this.#ends) {
      this.release(first.leaseId);
    }
  }

  /** The end that has to be waited for when slots were taken away from the plan: not the first. */
  #endOf(position: number): number {
    this.#order ??= Array.from(this.#slots.values(), ({ due }) => due).sort((a, b) => a - b);
    return this.#order[position]!;
  }

  /** Where an end is in the order, or would be. */
  #positionOf(endUs: number): number {
    const order = this.#order!;
    let [from, to] = [0, order.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (order[middle]! < endUs) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
