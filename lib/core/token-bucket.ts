import type { TokenCounter } from './counter.js';
import { EPSILON, LONGEST_WAIT_US, NEVER } from './counter.js';
import type { TokenBucketPlan } from './plan.js';
import { RefundLog } from './refund-log.js';
import type { Spent } from './spent.js';

/** Tokens that a bucket may seem to owe although nobody waits. */
const ROUNDING = 1e-6;
/** Whatever is owed by somebody is more than this. */
const LESS_THAN_A_TOKEN = 0.5;

/** Tokens as they were at a moment; what has come back since is computed when it is asked for. */
export class TokenBucket implements TokenCounter<TokenBucketPlan> {
  readonly kind = 'token-bucket';
  #tokens: number;
  #updatedUs: number;
  /** What was spent before is of a bucket that was forgotten when it was full. */
  readonly #sinceUs: number;
  /** Made with the first refund. */
  #refunds: RefundLog | undefined;

  /** An untouched bucket is full. */
  constructor(plan: TokenBucketPlan, nowUs: number, tokens = plan.quota) {
    this.#tokens = tokens;
    this.#updatedUs = nowUs;
    this.#sinceUs = nowUs;
  }

  waitUs(plan: TokenBucketPlan, cost: number, nowUs: number): number {
    if (this.#tokensAt(plan, nowUs) + EPSILON >= cost) return 0;
    if (cost > plan.quota) return NEVER;
    return this.#dueUs(plan, cost, nowUs) - nowUs;
  }

  remaining(plan: TokenBucketPlan, nowUs: number): number {
    return Math.max(0, Math.floor(this.#tokensAt(plan, nowUs) + EPSILON));
  }

  resetUs(plan: TokenBucketPlan, nowUs: number): number {
    const missing = plan.quota - this.#tokensAt(plan, nowUs);
    return Math.min(LONGEST_WAIT_US, Math.ceil((missing * plan.periodUs) / plan.refill));
  }

  /** Tokens as they are, below zero where turns are booked ahead. */
  level(plan: TokenBucketPlan, nowUs: number): number {
    return this.#tokensAt(plan, nowUs);
  }

  /** Whether turns are booked ahead that were not due at the last charge. */
  get owes(): boolean {
    return this.#tokens < 0;
  }

  /** When a bucket that owes nothing is full, if that takes so long from the last charge. */
  restoredUs(restoresInUs: number): number {
    return this.#updatedUs + restoresInUs;
  }

  /** What is left for a window, the other definition of the plan, to begin with: also beyond the capacity. */
  room(perUs: number, nowUs: number): number {
    const elapsedUs = nowUs - this.#updatedUs;
    return elapsedUs > 0 ? this.#tokens + elapsedUs * perUs : this.#tokens;
  }

  /**
   * Takes what a window of that limit let through. Never below nothing: a bucket that comes back later
   * need not pay for all that a larger plan let through.
   */
  chargeForWindow(limit: number, perUs: number, tokens: number, nowUs: number): void {
    const room = Math.min(limit, this.room(perUs, nowUs));
    this.#set(Math.max(Math.min(room, 0), room - tokens), nowUs);
  }

  /** May go below zero: by the rounding that was tolerated, or by what was reserved ahead. */
  charge(plan: TokenBucketPlan, tokens: number, nowUs: number): void {
    this.#set(this.#tokensAt(plan, nowUs) - tokens, nowUs);
  }

  /**
   * Gives back what is left of a charge: not what has been refilled since, for that has come back
   * already. The bucket never holds more than if the tokens had not been spent, nor more than its
   * capacity. Tokens of which nobody knows when they were spent are a credit, and come back whole.
   */
  refund(plan: TokenBucketPlan, spent: Spent, nowUs: number): boolean {
    const tokens = this.#giveBack(plan, spent, nowUs);
    if (tokens <= 0) return false;
    const heldUs = nowUs - (spent.atUs ?? nowUs);
    const refillUs = (plan.quota * plan.periodUs) / plan.refill;
    (this.#refunds ??= new RefundLog()).add(tokens, heldUs, refillUs, nowUs);
    return true;
  }

  /**
   * Gives back a reservation that was due at `dueUs`. Only the last in the queue comes back: turns
   * that were handed out behind it keep their time, and newcomers let in before them would come on
   * top of theirs.
   */
  cancel(plan: TokenBucketPlan, spent: Spent, dueUs: number, nowUs: number): boolean {
    const debt = -this.#tokensAt(plan, nowUs);
    const refilledSince = ((nowUs - dueUs) * plan.refill) / plan.periodUs;
    // Whoever queued behind owed a token or more at that time; rounding, much less.
    if (debt > ROUNDING && debt + refilledSince > LESS_THAN_A_TOKEN) return false;
    // Without the last one all is as if it had never been booked: nothing is taken off the others.
    return this.#isLast(plan, spent, nowUs)
      ? this.#giveBack(plan, spent, nowUs) > 0
      : this.refund(plan, spent, nowUs);
  }

  /** Whether all that was spent since has been given back as well. */
  #isLast(plan: TokenBucketPlan, { atUs, wholeUs }: Spent, nowUs: number): boolean {
    if (this.#refundedSince(atUs) > 0) return false;
    const missing = plan.quota - this.#tokensAt(plan, nowUs);
    const missingWithoutOthers = ((wholeUs - nowUs) * plan.refill) / plan.periodUs;
    return Math.abs(missing - missingWithoutOthers) <= LESS_THAN_A_TOKEN;
  }

  /** Tokens that come back to the bucket. */
  #giveBack(plan: TokenBucketPlan, spent: Spent, nowUs: number): number {
    const level = this.#tokensAt(plan, nowUs);
    const tokens = Math.min(plan.quota - level, this.#leftOf(plan, spent, nowUs));
    if (tokens > 0) this.#set(level + tokens, nowUs);
    return tokens;
  }

  #refundedSince(atUs = 0): number {
    return this.#refunds?.since(atUs) ?? 0;
  }

  /**
   * What is not refilled of a charge. If nobody else had spent, the bucket would be whole at
   * `wholeUs`; whatever others spent since came on top, and whatever they got back is taken off. Or
   * the charge alone, less all that was refilled meanwhile, where that is more: that much is always
   * left of it.
   */
  #leftOf(plan: TokenBucketPlan, { tokens, atUs, wholeUs }: Spent, nowUs: number): number {
    if (atUs === undefined) return tokens;
    if (atUs < this.#sinceUs) return 0;
    const alone = tokens - (Math.max(0, nowUs - atUs) * plan.refill) / plan.periodUs;
    // Told in whole microseconds, rounded up.
    const missing = ((wholeUs - 1 - nowUs) * plan.refill) / plan.periodUs;
    const left = missing - this.#refundedSince(atUs);
    return Math.min(tokens, Math.max(alone, left));
  }

  #tokensAt(plan: TokenBucketPlan, nowUs: number): number {
    const elapsedUs = nowUs - this.#updatedUs;
    const refilled =
      elapsedUs > 0 ? this.#tokens + (elapsedUs * plan.refill) / plan.periodUs : this.#tokens;
    return Math.min(plan.quota, refilled);
  }

  /**
   * The first microsecond at which the cost is admitted. Solved on the stored value, then settled
   * with the very comparison that will admit it, so that the wait we advertise is never a
   * microsecond short or long, whatever the rounding.
   */
  #dueUs(plan: TokenBucketPlan, cost: number, nowUs: number): number {
    const missingUs = ((cost - EPSILON - this.#tokens) * plan.periodUs) / plan.refill;
    if (missingUs > LONGEST_WAIT_US) return nowUs + LONGEST_WAIT_US;
    let dueUs = this.#updatedUs + Math.ceil(missingUs);
    dueUs = Math.max(dueUs, nowUs + 1);
    while (this.#tokensAt(plan, dueUs) + EPSILON < cost) dueUs++;
    while (dueUs > nowUs + 1 && this.#tokensAt(plan, dueUs - 1) + EPSILON >= cost) dueUs--;
    return dueUs;
  }

  #set(tokens: number, nowUs: number): void {
    this.#tokens = tokens;
    this.#updatedUs = Math.max(this.#updatedUs, nowUs);
  }
}
