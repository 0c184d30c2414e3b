import { Bill } from './bill.js';
import type { Decision, HeldLease, Limit, LimitStore } from './limit-store.js';
import { RateLimitResult } from './rate-limit-result.js';
import type { PlanOrRate } from './register.js';

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
  readonly #decision: Decision;
  /** Made when it is asked for: most charges are right from the start. */
  #bill: Bill | undefined;
  readonly #store: LimitStore;
  readonly #keeper: LeaseKeeper | undefined;
  readonly #onRelease: (() => void) | undefined;

  /** @internal Made by the limiter. */
  constructor(decision: Decision, held: HeldLease | undefined, ties: LeaseTies) {
    super(decision);
    this.#decision = decision;
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
    this.#isOver = true;
    await this.giveBack();
  }

  /**
   * Corrects what a plan was charged, once it is known: fewer tokens are given back, more are
   * charged. Then a bucket may owe, at most what it holds; a sliding window gives what it has left.
   * The first call counts; later ones do nothing, like those for what was not charged.
   */
  settle(plan: PlanOrRate, tokens: number): Promise<void> {
    return this.#billed().settle(plan, tokens);
  }

  /** Gives back what was charged for these limits, unless it was settled. */
  refund(limits: readonly Limit[]): Promise<void> {
    return this.#billed().refund(limits);
  }

  /** Prolongs the lease by its full length. Returns false when it had ended already. */
  async renew(): Promise<boolean> {
    if (!this.#held) return false;
    const [alive = false] = await this.#store.renew([this.#held]);
    // Some slots may have been prolonged although another one had ended.
    if (!alive) await this.lose();
    return alive;
  }

  /** Hears that the store does not know the slots any more, all or some of them. */
  async lose(): Promise<void> {
    await this.release();
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

  /** Gives back what is held; it may hold slots again. */
  protected async giveBack(): Promise<void> {
    const held = this.#drop();
    if (!held) return;
    await this.#store.giveBack({ kind: 'release', ...held });
    this.#onRelease?.();
  }

  /** Forgets the slots without giving them back, because they are lost or returned otherwise. */
  letGo(): HeldLease | undefined {
    this.#isOver = true;
    return this.#drop();
  }

  #drop(): HeldLease | undefined {
    const held = this.#held;
    this.#held = undefined;
    if (held) this.#keeper?.drop(this);
    return held;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  /** Ends the bill, because everything is given back otherwise. False when a part was settled. */
  protected closeBill(): boolean {
    return this.#billed().close();
  }

  #billed(): Bill {
    return (this.#bill ??= new Bill(this.#decision, this.#store));
  }
}

/** What a lease hangs on. */
export interface LeaseTies {
  readonly store: LimitStore;
  readonly keeper?: LeaseKeeper | undefined;
  /** Called when the slots have been given back. */
  readonly onRelease?: (() => void) | undefined;
}
