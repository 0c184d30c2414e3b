import { Bill } from './bill.js';
import type { LeaseTies } from './held-slots.js';
import { HeldSlots } from './held-slots.js';
import type { Decision, HeldLease, Limit } from './limit-store.js';
import { RateLimitResult } from './rate-limit-result.js';
import type { PlanOrRate } from './register.js';

/**
 * The answer to `acquire`, and the slots that it lent. Releasing gives the slots back, once; a
 * refused one holds nothing, and releasing it does nothing. Keep it as long as the slots are needed:
 * one that is garbage is released.
 *
 * ```ts
 * await using slot = await limiter.acquire('user-1', 'uploads');
 * if (!slot.allowed) throw new Error(`busy, try again in ${slot.retryAfterMs} ms`);
 * ```
 */
export class Lease extends RateLimitResult implements AsyncDisposable {
  #slots: HeldSlots | undefined;
  #isOver = false;
  readonly #decision: Decision;
  /** Made when it is asked for: most charges are right from the start. */
  #bill: Bill | undefined;
  readonly #ties: LeaseTies;

  /** @internal Made by the limiter. */
  constructor(decision: Decision, held: HeldLease | undefined, ties: LeaseTies) {
    super(decision);
    this.#decision = decision;
    this.#ties = ties;
    if (held) this.#slots = new HeldSlots(held, ties, this.lossListener());
  }

  /** The slots as the store knows them, while they are held. */
  get held(): HeldLease | undefined {
    return this.#slots?.held;
  }

  /**
   * What is kept alive, which does not keep the lease.
   * @internal
   */
  get slots(): HeldSlots | undefined {
    return this.#slots;
  }

  /**
   * Says where the slots were taken, for warnings, and ends them after the `maxHoldMs` of their plans.
   * @internal
   */
  lentTo(place: string | undefined, startsInMs = 0): void {
    if (!this.#slots) return;
    this.#slots.place = place;
    this.#slots.limitHold(startsInMs);
  }

  /** Gives the slots back. Safe to call more than once. */
  async release(): Promise<void> {
    this.#isOver = true;
    await this.#slots?.giveBack();
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
    return (await this.#slots?.renew()) ?? false;
  }

  /** Forgets the slots without giving them back, because they are lost or returned otherwise. */
  letGo(): HeldLease | undefined {
    this.#isOver = true;
    return this.#slots?.letGo();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }

  /**
   * Holds more slots, which were taken under the id of the lease. Once that is released it answers
   * false, and holds nothing.
   */
  protected holdAlso(held: HeldLease): boolean {
    if (this.#isOver) return false;
    if (this.#slots) this.#slots.add(held);
    else this.#slots = new HeldSlots(held, this.#ties, this.lossListener());
    return true;
  }

  /** Called when the store has lost the slots. One that refers to the lease keeps it in memory. */
  protected lossListener(): (() => Promise<void>) | undefined {
    return undefined;
  }

  /** Ends the bill, because everything is given back otherwise. False when a part was settled. */
  protected closeBill(): boolean {
    return this.#billed().close();
  }

  #billed(): Bill {
    return (this.#bill ??= new Bill(this.#decision, this.#ties.store));
  }
}
