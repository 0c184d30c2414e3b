import type { Plan } from './plan.js';

/** One plan applied to one key: one counter in the store, and what this request asks of it. */
export interface Limit {
  /** The rule that is applied. */
  readonly plan: Plan;
  /** Whom it counts. */
  readonly key: string;
  /** Tokens to spend. A concurrency plan lends one slot whatever it says. */
  readonly cost: number;
  /** What it is called where people look; undefined: as its plan, and the key is the caller's. */
  readonly seenAs?: LimitLabel;
}

/** How a limit is called where people look: the level of a gateway, or the rule of a domain. */
export interface LimitLabel {
  /** One of few, never a key. */
  readonly name: string;
  /** Whether it is the level of a gateway or the rule of a domain. */
  readonly side: 'gateway' | 'outbound';
  /** Whether its key tells one caller from another. */
  readonly isOfCaller: boolean;
}
