import type { HeldLease } from '../core/limit-store.js';

/** Leases that are remembered; beyond that, slots come back when their lease ends. */
const MAX_OWED = 10_000;

/** A lease that has to be given back, to which server, and until when that is of any use. */
export interface OwedRelease {
  readonly node: string;
  readonly lease: HeldLease;
  readonly endsMs: number;
}

/**
 * Leases that have to be given back as soon as their server answers again: released while it did not,
 * or asked for and never heard of.
 */
export class OwedReleases {
  readonly #nodes = new Map<string, OwedRelease[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(node: string, lease: HeldLease, nowMs: number): void {
    this.addAgain({ node, lease, endsMs: nowMs + longestLeaseMs(lease) });
  }

  addAgain(owed: OwedRelease): void {
    if (this.#size >= MAX_OWED) return;
    const ofNode = this.#nodes.get(owed.node);
    if (ofNode) ofNode.push(owed);
    else this.#nodes.set(owed.node, [owed]);
    this.#size++;
  }

  /** What is owed to a server and has not ended by itself meanwhile; it is owed no longer. */
  take(node: string, nowMs: number): OwedRelease[] {
    const ofNode = this.#nodes.get(node);
    if (!ofNode) return [];
    this.#nodes.delete(node);
    this.#size -= ofNode.length;
    return ofNode.filter(({ endsMs }) => endsMs > nowMs);
  }
}

function longestLeaseMs({ limits }: HeldLease): number {
  const lengths = limits.map(({ plan }) => (plan.kind === 'concurrency' ? plan.leaseUs : 0));
  return Math.max(...lengths) / 1_000;
}
