import type { TokenBucketPlan } from '../core/plan.js';

/** How much a timer may be late before those behind it have to keep their distance. */
const LATENESS_SECONDS = 0.05;

/** Tokens that may seem to be missing although none are. */
const ROUNDING = 1e-6;

/**
 * Keeps turns apart that come due together because this process was busy when they were due: without
 * it, a pause of a second would let a second's worth of calls go at once.
 */
export class Pace {
  #tokens: number;
  #atMs: number;

  constructor(plan: TokenBucketPlan, nowMs: number) {
    this.#tokens = capacityOf(plan);
    this.#atMs = nowMs;
  }

  /** Milliseconds until the next call may follow those before it; 0 when it may now. */
  waitMs(plan: TokenBucketPlan, tokens: number, nowMs: number): number {
    const missing = tokens - this.#tokensAt(plan, nowMs);
    return missing <= ROUNDING ? 0 : (missing * 1_000) / perSecond(plan);
  }

  spend(plan: TokenBucketPlan, tokens: number, nowMs: number): void {
    this.#tokens = this.#tokensAt(plan, nowMs) - tokens;
    this.#atMs = nowMs;
  }

  #tokensAt(plan: TokenBucketPlan, nowMs: number): number {
    const refilled = this.#tokens + ((nowMs - this.#atMs) * perSecond(plan)) / 1_000;
    return Math.min(capacityOf(plan), refilled);
  }
}

function perSecond({ refill, periodUs }: TokenBucketPlan): number {
  return (refill * 1_000_000) / periodUs;
}

function capacityOf(plan: TokenBucketPlan): number {
  return plan.quota + Math.max(1, perSecond(plan) * LATENESS_SECONDS);
}
