import type { HeldLease, LimitStore } from './limit-store.js';

/** Keeps slots alive while their holder lives. */
export interface LeaseKeeper {
  /** Renews the slots from now on. */
  hold(slots: HeldSlots): void;
  /** Stops renewing them. */
  drop(slots: HeldSlots): void;
  /** Gives the slots back in so many milliseconds, if they are still held by then. */
  limitHold(slots: HeldSlots, inMs: number): void;
}

/** What slots are taken from and given back to. */
export interface LeaseTies {
  readonly store: LimitStore;
  readonly keeper?: LeaseKeeper | undefined;
  /** Called when the slots have been given back. */
  readonly onRelease?: (() => void) | undefined;
}

/**
 * The slots of a lease, apart from the lease: what is kept alive must not keep the lease in memory,
 * or one that its holder has forgotten could not be found.
 */
export class HeldSlots {
  /** Where they were taken: a handler, or a line of code. Undefined where that is not known. */
  place: string | undefined;
  #held: HeldLease | undefined;
  readonly #ties: LeaseTies;
  readonly #onLost: (() => Promise<void>) | undefined;

  constructor(held: HeldLease, ties: LeaseTies, onLost?: () => Promise<void>) {
    this.#ties = ties;
    this.#onLost = onLost;
    this.add(held);
  }

  /** The slots as the store knows them, while they are held. */
  get held(): HeldLease | undefined {
    return this.#held;
  }

  /** Holds more slots, which were taken under the same id. */
  add({ leaseId, limits }: HeldLease): void {
    const before = this.#held;
    this.#held = before ? { leaseId, limits: [...before.limits, ...limits] } : { leaseId, limits };
    if (!before) this.#ties.keeper?.hold(this);
  }

  /** Ends them with the shortest `maxHoldMs` of their plans, counted from in `startsInMs`. */
  limitHold(startsInMs: number): void {
    let maxHoldMs = Number.POSITIVE_INFINITY;
    for (const { plan } of this.#held?.limits ?? []) {
      if (plan.kind !== 'concurrency' || plan.maxHoldMs === undefined) continue;
      maxHoldMs = Math.min(maxHoldMs, plan.maxHoldMs);
    }
    if (maxHoldMs < Number.POSITIVE_INFINITY) {
      this.#ties.keeper?.limitHold(this, startsInMs + maxHoldMs);
    }
  }

  /** Gives back what is held; slots may be added again. */
  async giveBack(): Promise<void> {
    const held = this.letGo();
    if (!held) return;
    await this.#ties.store.giveBack({ kind: 'release', ...held });
    this.#ties.onRelease?.();
  }

  /** Forgets the slots without giving them back, because they are lost or returned otherwise. */
  letGo(): HeldLease | undefined {
    const held = this.#held;
    this.#held = undefined;
    if (held) this.#ties.keeper?.drop(this);
    return held;
  }

  /** Prolongs the lease by its full length. Returns false when it had ended already. */
  async renew(): Promise<boolean> {
    if (!this.#held) return false;
    const [alive = false] = await this.#ties.store.renew([this.#held]);
    // Some slots may have been prolonged although another one had ended.
    if (!alive) await this.lose();
    return alive;
  }

  /** Gives back what is left, because the store does not know the slots any more, all or some. */
  async lose(): Promise<void> {
    await this.giveBack();
    await this.#onLost?.();
  }
}
