import type { Rate } from './rate.js';

/** A plan that spends tokens: bursts up to the capacity, refilled steadily. The default kind. */
export interface TokenBucketDefinition extends PlanModifiers {
  /** Told by its fields; need not be written. */
  readonly kind?: 'token-bucket';
  /** Tokens that a full bucket holds: the largest burst. −1 is no limit, 0 denies all. */
  readonly capacity: number;
  /** Tokens that come back each second. Fractions are welcome: 0.5 is one every two seconds. */
  readonly tokensPerSecond: number;
}

/** A plan that counts what happened in the last `windowMs`, estimated from two windows. */
export interface SlidingWindowDefinition extends PlanModifiers {
  /** Told by its fields; need not be written. */
  readonly kind?: 'sliding-window';
  /** Tokens that may be spent in one window. −1 is no limit, 0 denies all. */
  readonly limit: number;
  /** Length of the window in milliseconds. */
  readonly windowMs: number;
}

/** A plan that counts what is going on at this moment, by leases. */
export interface ConcurrencyDefinition extends PlanModifiers {
  /** Told by its fields; need not be written. */
  readonly kind?: 'concurrency';
  /** Slots that may be held at once. −1 is no limit, 0 denies all. */
  readonly maxConcurrent: number;
  /**
   * Milliseconds after which the slot of a holder that died comes back. A living holder is renewed.
   * @default 60_000
   */
  readonly leaseMs?: number;
  /**
   * Longest time in milliseconds that a slot is held: after that it is given back although its
   * handler still works, and a warning names the handler. The shortest of a chain counts for all its
   * slots. Connections of gateways hold theirs until they close.
   * @default none: a slot is held until its handler and its response have ended, or it is released
   */
  readonly maxHoldMs?: number;
}

/** What a plan of any kind may say. */
export interface PlanModifiers {
  /**
   * Decide and report, but never deny: the way to try a limit on real traffic.
   * @default false
   */
  readonly shadow?: boolean;
  /**
   * What happens while the store does not answer: let pass, deny, or limit in this process alone.
   * @default that of the module
   */
  readonly onStoreFailure?: FailurePolicy;
}

/** What happens while the store does not answer. */
export type FailurePolicy = 'open' | 'closed' | 'local';

/** A plan as it is written in the options. */
export type PlanDefinition =
  Rate | TokenBucketDefinition | SlidingWindowDefinition | ConcurrencyDefinition;

interface PlanBase {
  /** Counters are told apart by it. */
  readonly name: string;
  /** What results and statistics call it: its name, where it has no better one. */
  readonly label: string;
  /** −1 is no limit, 0 denies all, more than 0 is the capacity, the limit or the slots. */
  readonly quota: number;
  /** Milliseconds in which the quota is restored; 0 for concurrency, where time restores nothing. */
  readonly windowMs: number;
  /** Whether its no is only reported. */
  readonly shadow: boolean;
  /** Undefined: that of the module. */
  readonly onStoreFailure: FailurePolicy | undefined;
}

/** A checked token bucket. `refill` tokens come back every `periodUs`: two numbers keep it exact. */
export interface TokenBucketPlan extends PlanBase {
  readonly kind: 'token-bucket';
  /** Tokens that come back in one period. */
  readonly refill: number;
  /** Length of the period in microseconds. */
  readonly periodUs: number;
}

/** A checked sliding window. */
export interface SlidingWindowPlan extends PlanBase {
  readonly kind: 'sliding-window';
  /** Length of the window in microseconds. */
  readonly windowUs: number;
}

/** A checked concurrency cap. */
export interface ConcurrencyPlan extends PlanBase {
  readonly kind: 'concurrency';
  /** Microseconds after which the slot of a holder that died comes back. */
  readonly leaseUs: number;
  /** Milliseconds after which a slot is given back although it is still held; undefined for never. */
  readonly maxHoldMs: number | undefined;
}

/** A named rule, checked and ready to decide. Made by `definePlan`. */
export type Plan = TokenBucketPlan | SlidingWindowPlan | ConcurrencyPlan;

/** No limit at all. */
export const UNLIMITED = -1;
/** Nothing passes. */
export const DENY_ALL = 0;
