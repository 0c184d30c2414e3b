import type { HeldSlots, LeaseKeeper } from '../core/held-slots.js';
import type { Limit } from '../core/limit-store.js';

interface Held {
  readonly limits: readonly Limit[];
  readonly sinceMs: number;
}

/** Hears that slots were given back, or lost. */
export type LeaseListener = (limits: readonly Limit[], heldMs: number) => void;

/** A keeper around another one, which knows what is held and for how long. */
export class ObservedLeases implements LeaseKeeper {
  readonly #held = new Map<HeldSlots, Held>();

  constructor(
    private readonly keeper: LeaseKeeper,
    private readonly nowMs: () => number,
    private readonly listener: LeaseListener,
  ) {}

  /** How many are held. */
  get size(): number {
    return this.#held.size;
  }

  hold(slots: HeldSlots): void {
    this.#held.set(slots, { limits: slots.held?.limits ?? [], sinceMs: this.nowMs() });
    this.keeper.hold(slots);
  }

  drop(slots: HeldSlots): void {
    const held = this.#held.get(slots);
    this.#held.delete(slots);
    this.keeper.drop(slots);
    if (held) this.listener(held.limits, this.nowMs() - held.sinceMs);
  }

  limitHold(slots: HeldSlots, inMs: number): void {
    this.keeper.limitHold(slots, inMs);
  }

  /** The limits of which a slot is held, once for each slot. */
  *limits(): Iterable<Limit> {
    for (const slots of this.#held.keys()) yield* slots.held?.limits ?? [];
  }
}
