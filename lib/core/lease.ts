import type { Decision, HeldLease, LimitStore } from './limit-store.js';
import { RateLimitResult } from './rate-limit-result.js';

/** Keeps leases alive while their holder lives. */
export interface LeaseKeeper {
  /** Renews the lease from now on. */
  hold(lease: Lease): void;
  /** Stops renewing it. */
  drop(lease: Lease): void;
}

/**
 * The answer to `acquire`, and the slots that it lent. Releasing gives the slots back, once; a
 * refused one holds nothing, and releasing it does nothing.
 *
 * ```ts
 * await using slot = await limiter.acquire('user-1', 'uploads');
 * if (!slot.allowed) throw new Error(`busy, try again in ${slot.retryAfterMs} ms`);
 * ```
 */
export class Lease extends RateLimitResult implements AsyncDisposable {
  /** What the store knows the slots by; undefined when none are held. */
  #held: HeldLease | undefined;
  #isOver = false;
  readonly #store: LimitStore;
  readonly #keeper: LeaseKeeper | undefined;
  readonly #onRelease: (() => void) | undefined;

  constructor(decision: Decision, held: HeldLease | undefined, ties: LeaseTies) {
    super(decision);
    this.#held = held;
    this.#store = ties.store;
    this.#keeper = ties.keeper;
    this.#onRelease = ties.onRelease;
    if (held) this.#keeper?.hold(this);
  }

  /** The slots as the store knows them, while they are held. */
  get held(): HeldLease | undefined {
    return this.#held;
  }

  /** Gives the slots back. Safe to call more than once. */
  async release(): Promise<void> {
    const held = this.letGo();
    if (!held) return;
    await this.#store.giveBack({ kind: 'release', ...held });
    this.#onRelease?.();
  }

  /** Prolongs the lease by its full length. Returns false when it had ended already. */
  async renew(): Promise<boolean> {
    if (!this.#held) return false;
    const [alive = false] = await this.#store.renew([this.#held]);
    // Some slots may have been prolonged although another one had ended.
    if (!alive) await this.release();
    return alive;
  }

  /**
   * Holds more slots, which were taken under the id of the lease. Once that is released it answers
   * false, and holds nothing.
   */
  protected holdAlso({ leaseId, limits }: HeldLease): boolean {
    if (this.#isOver) return false;
    const before = this.#held;
    this.#held = { leaseId, limits: [...(before?.limits ?? []), ...limits] };
    if (!before) this.#keeper?.hold(this);
    return true;
  }

  /** Forgets the slots without giving them back, because they are lost or returned otherwise. */
  letGo(): HeldLease | undefined {
    const held = this.#held;
    this.#held = undefined;
    this.#isOver = true;
    if (held) this.#keeper?.drop(this);
    return held;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }
}

/** What a lease hangs on. */
export interface LeaseTies {
  readonly store: LimitStore;
  readonly keeper?: LeaseKeeper | undefined;
  /** Called when the slots have been given back. */
  readonly onRelease?: (() => void) | undefined;
}
