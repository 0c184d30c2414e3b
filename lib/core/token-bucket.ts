import type { TokenCounter } from './counter.js';
import { EPSILON, LONGEST_WAIT_US, NEVER } from './counter.js';
import type { TokenBucketPlan } from './plan.js';

/** Tokens that a bucket may seem to owe although nobody waits. */
const ROUNDING = 1e-6;

/** Tokens as they were at a moment; what has come back since is computed when it is asked for. */
export class TokenBucket implements TokenCounter<TokenBucketPlan> {
  readonly kind = 'token-bucket';
  #tokens: number;
  #updatedUs: number;

  /** An untouched bucket is full. */
  constructor(plan: TokenBucketPlan, nowUs: number) {
    this.#tokens = plan.quota;
    this.#updatedUs = nowUs;
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

  /** May go below zero: by the rounding that was tolerated, or by what was reserved ahead. */
  charge(plan: TokenBucketPlan, tokens: number, nowUs: number): void {
    this.#set(this.#tokensAt(plan, nowUs) - tokens, nowUs);
  }

  /** Never above the capacity. */
  refund(plan: TokenBucketPlan, tokens: number, nowUs: number): void {
    this.#set(Math.min(plan.quota, this.#tokensAt(plan, nowUs) + tokens), nowUs);
  }

  /**
   * Gives back a reservation that was due at `dueUs`. Only the last in the queue comes back: turns
   * that were handed out behind it keep their time, and newcomers let in before them would come on
   * top of theirs. When nobody waits any more, what has been refilled meanwhile does not come
   * twice.
   */
  cancel(plan: TokenBucketPlan, tokens: number, dueUs: number, nowUs: number): boolean {
    const debt = -this.#tokensAt(plan, nowUs);
    const refilledSince = ((nowUs - dueUs) * plan.refill) / plan.periodUs;
    // Whoever queued behind owed a token or more at that time; rounding, much less.
    const queuedBehind = debt > ROUNDING && debt + refilledSince > 0.5;
    if (queuedBehind) return false;
    const refund = tokens - Math.max(0, refilledSince);
    if (refund <= 0) return false;
    this.refund(plan, refund, nowUs);
    return true;
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
