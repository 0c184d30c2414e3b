import type { Counter, TokenCounter } from './counter.js';
import { LeaseSet } from './lease-set.js';
import type { Plan, SlidingWindowPlan, TokenBucketPlan } from './plan.js';
import { SlidingWindow } from './sliding-window.js';
import { TokenBucket } from './token-bucket.js';

/** A plan whose tokens are counted. */
export type TokenPlan = TokenBucketPlan | SlidingWindowPlan;

/**
 * Whether two definitions of a plan count in the same counter: all buckets do, and windows of the
 * same length.
 */
export function countsAlike(one: Plan, other: Plan): boolean {
  if (one.kind !== other.kind) return false;
  return one.kind !== 'sliding-window' || one.windowUs === (other as SlidingWindowPlan).windowUs;
}

/** A counter of which nothing is spent. */
export function newCounter(plan: Plan, nowUs: number): Counter {
  return plan.kind === 'concurrency' ? new LeaseSet(plan, nowUs) : newCount(plan, nowUs);
}

/** A counter with as much left as `room`, or all of the quota if that is less. */
export function newCount(plan: TokenPlan, nowUs: number, room: number = plan.quota): TokenCounter {
  const left = Math.min(plan.quota, room);
  return plan.kind === 'token-bucket'
    ? new TokenBucket(plan, nowUs, left)
    : new SlidingWindow(plan, nowUs, left);
}

/** The time in which a plan is restored. */
export function restoresInUs(plan: TokenPlan): number {
  return plan.kind === 'token-bucket' ? (plan.quota * plan.periodUs) / plan.refill : plan.windowUs;
}
