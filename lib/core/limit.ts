import type { Plan } from './plan.js';

/** One plan applied to one key: one counter in the store, and what this request asks of it. */
export interface Limit {
  /** The rule that is applied. */
  readonly plan: Plan;
  /** Whom it counts. */
  readonly key: string;
  /** Tokens to spend. A concurrency plan lends one slot whatever it says. */
  readonly cost: number;
}
