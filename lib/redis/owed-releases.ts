import type { HeldLease } from '../core/limit-store.js';

/** Leases that are remembered; beyond that, slots come back when their lease ends. */
const MAX_OWED = 10_000;

/**
 * Leases that have to be given back as soon as the store answers again: released while it did not, or
 * asked for and never heard of.
 */
export class OwedReleases {
  readonly #owed = new Map<string, HeldLease & { readonly endsMs: number }>();

  get size(): number {
    return this.#owed.size;
  }

  add(lease: HeldLease, nowMs: number): void {
    this.#owed.set(lease.leaseId, { ...lease, endsMs: nowMs + longestLeaseMs(lease) });
    if (this.#owed.size <= MAX_OWED) return;
    const [oldest] = this.#owed.keys();
    this.#owed.delete(oldest!);
  }

  /** All that have not ended by themselves meanwhile; they are owed no longer. */
  take(nowMs: number): HeldLease[] {
    const due = [...this.#owed.values()].filter(({ endsMs }) => endsMs > nowMs);
    this.#owed.clear();
    return due;
  }
}

function longestLeaseMs({ limits }: HeldLease): number {
  const lengths = limits.map(({ plan }) => (plan.kind === 'concurrency' ? plan.leaseUs : 0));
  return Math.max(...lengths) / 1_000;
}
