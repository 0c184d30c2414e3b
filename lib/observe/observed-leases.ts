import type { Lease, LeaseKeeper } from '../core/lease.js';
import type { Limit } from '../core/limit-store.js';

interface Held {
  readonly limits: readonly Limit[];
  readonly sinceMs: number;
}

/** Hears that slots were given back, or lost. */
export type LeaseListener = (limits: readonly Limit[], heldMs: number) => void;

/** A keeper around another one, which knows what is held and for how long. */
export class ObservedLeases implements LeaseKeeper {
  readonly #held = new Map<Lease, Held>();

  constructor(
    private readonly keeper: LeaseKeeper,
    private readonly nowMs: () => number,
    private readonly listener: LeaseListener,
  ) {}

  /** How many are held. */
  get size(): number {
    return this.#held.size;
  }

  hold(lease: Lease): void {
    this.#held.set(lease, { limits: lease.held?.limits ?? [], sinceMs: this.nowMs() });
    this.keeper.hold(lease);
  }

  drop(lease: Lease): void {
    const held = this.#held.get(lease);
    this.#held.delete(lease);
    this.keeper.drop(lease);
    if (held) this.listener(held.limits, this.nowMs() - held.sinceMs);
  }

  /** The limits of which a slot is held, once for each slot. */
  *limits(): Iterable<Limit> {
    for (const lease of this.#held.keys()) yield* lease.held?.limits ?? [];
  }
}
