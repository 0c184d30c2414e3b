import type { Plan } from './plan.js';
import type { Spent } from './spent.js';

/** The wait of a request that no amount of waiting will let through. */
export const NEVER = Number.POSITIVE_INFINITY;

/**
 * Twenty years, the longest wait that is told and more than can be booked: beyond, microseconds are no
 * longer exact. A plan that became much slower while a queue was booked can owe more.
 */
export const LONGEST_WAIT_US = 630_720_000_000_000;

/**
 * Tolerance of the comparison, in tokens. Refilling in doubles leaves errors around 1e-10; without
 * it a request that exact arithmetic admits would be told to wait another microsecond. It is not
 * part of the subtraction, so what one admission borrows the next pays back and nothing drifts.
 */
export const EPSILON = 1e-9;

/**
 * What one limit remembers, and the arithmetic on it. The plan is given with every call, so that it
 * can be replaced while the counter lives. Asking changes nothing that could be noticed.
 */
export interface Counter<P extends Plan = Plan> {
  readonly kind: P['kind'];
  /** Microseconds until the cost would be admitted: 0 when it is now, NEVER when it cannot be. */
  waitUs(plan: P, cost: number, nowUs: number): number;
  /** What is left to spend, in whole tokens or slots. */
  remaining(plan: P, nowUs: number): number;
  /** Microseconds until nothing is left of what was spent, so that the counter can be forgotten. */
  resetUs(plan: P, nowUs: number): number;
}

/** A counter of tokens. */
export interface TokenCounter<P extends Plan = Plan> extends Counter<P> {
  /** Spends. The caller has made sure that every limit of the chain admits. */
  charge(plan: P, tokens: number, nowUs: number): void;
  /** Puts back what is left of tokens that were spent for nothing. Returns whether anything was. */
  refund(plan: P, spent: Spent, nowUs: number): boolean;
}
