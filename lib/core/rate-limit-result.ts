import { NEVER } from './counter.js';
import type { Decision, Limit, LimitDecision } from './limit-store.js';
import type { Plan } from './plan.js';
import { DENY_ALL } from './plan.js';

/**
 * Why a request was allowed or denied.
 *
 * - `ALLOWED`: every plan had room.
 * - `UNLIMITED`: no plan of the chain limits anything (−1).
 * - `LIMIT_EXCEEDED`: some plan has no room now; waiting helps.
 * - `COST_EXCEEDS_CAPACITY`: more tokens were asked for than a plan can ever hold.
 * - `DENIED_BY_PLAN`: a plan denies everything (0).
 * - `FAIL_OPEN`: the store could not answer, and the request was let pass uncounted.
 * - `FAIL_CLOSED`: the store could not answer, and the plan asks to deny then.
 * - `FAIL_LOCAL`: the store could not answer; this process alone has decided.
 */
export type RateLimitReason =
  | 'ALLOWED'
  | 'UNLIMITED'
  | 'LIMIT_EXCEEDED'
  | 'COST_EXCEEDS_CAPACITY'
  | 'DENIED_BY_PLAN'
  | 'FAIL_OPEN'
  | 'FAIL_CLOSED'
  | 'FAIL_LOCAL';

const FAILURE_REASONS = { open: 'FAIL_OPEN', closed: 'FAIL_CLOSED', local: 'FAIL_LOCAL' } as const;

/** What one limit of the chain said. */
export interface LimitStatus {
  /** Name of the plan. */
  readonly plan: string;
  /** Kind of the plan. */
  readonly kind: Plan['kind'];
  /** What the plan holds in all: its capacity, limit or slots. */
  readonly quota: number;
  /** Milliseconds in which the quota is restored; 0 for concurrency, where time restores nothing. */
  readonly windowMs: number;
  /** Whole tokens or slots left. */
  readonly remaining: number;
  /** Milliseconds until this limit would admit the request: 0 now, null never. */
  readonly retryAfterMs: number | null;
  /** Milliseconds until all that was spent has come back. */
  readonly resetMs: number;
  /** Whether this limit said no. */
  readonly denied: boolean;
  /** Whether its no is only reported. */
  readonly shadow: boolean;
}

/** The answer to a request. */
export class RateLimitResult {
  /** Whether the request may go on. When it may not, nothing was charged. */
  readonly allowed: boolean;
  /** The fewest whole tokens or slots left in any plan; Infinity when nothing limits. */
  readonly remainingTokens: number;
  /** Whole milliseconds after which the same request is allowed if nobody else spends; null never. */
  readonly retryAfterMs: number | null;
  /** Why it was allowed or denied. */
  readonly reason: RateLimitReason;
  readonly #decided: readonly LimitDecision[];
  #limits: readonly LimitStatus[] | undefined;

  constructor(decision: Decision) {
    this.allowed = decision.allowed;
    this.remainingTokens = fewestLeft(decision.limits);
    this.retryAfterMs = decision.allowed ? 0 : wholeMs(decision.waitUs);
    this.reason = reasonOf(decision);
    this.#decided = decision.limits;
  }

  /**
   * One entry per limit that applied, in the order of the chain. Made when it is asked for: most
   * callers only look at `allowed`.
   */
  get limits(): readonly LimitStatus[] {
    return (this.#limits ??= this.#decided.map(statusOf));
  }

  /** The result as logs and answers show it. */
  toJSON(): Record<string, unknown> {
    const { allowed, remainingTokens, retryAfterMs, reason, limits } = this;
    return { allowed, remainingTokens, retryAfterMs, reason, limits };
  }

  [Symbol.for('nodejs.util.inspect.custom')](): Record<string, unknown> {
    return this.toJSON();
  }
}

/** What is decided when nothing limits. */
export const UNLIMITED_DECISION: Decision = {
  allowed: true,
  waitUs: 0,
  atUs: 0,
  limits: [],
};

/** What a plan of 0 says to everybody, without the store being asked. */
export function denialOf(limit: Limit): LimitDecision {
  return { limit, admits: false, remaining: 0, waitUs: NEVER, resetUs: 0 };
}

function statusOf({ limit, admits, remaining, waitUs, resetUs }: LimitDecision): LimitStatus {
  const { plan } = limit;
  return {
    plan: plan.label,
    kind: plan.kind,
    quota: plan.quota,
    windowMs: plan.windowMs,
    remaining,
    retryAfterMs: wholeMs(waitUs),
    resetMs: Math.ceil(resetUs / 1_000),
    denied: !admits,
    shadow: plan.shadow,
  };
}

function reasonOf({ allowed, waitUs, limits, failure }: Decision): RateLimitReason {
  if (failure !== undefined) return FAILURE_REASONS[failure];
  if (allowed) return limits.length === 0 ? 'UNLIMITED' : 'ALLOWED';
  if (waitUs !== NEVER) return 'LIMIT_EXCEEDED';
  return limits.some(deniesAll) ? 'DENIED_BY_PLAN' : 'COST_EXCEEDS_CAPACITY';
}

function deniesAll({ limit: { plan } }: LimitDecision): boolean {
  return plan.quota === DENY_ALL && !plan.shadow;
}

function fewestLeft(limits: readonly LimitDecision[]): number {
  let fewest = Number.POSITIVE_INFINITY;
  for (const { limit, remaining } of limits) {
    if (!limit.plan.shadow && remaining < fewest) fewest = remaining;
  }
  return fewest;
}

/** Rounded up, so that whoever sleeps that long is not early. */
function wholeMs(us: number): number | null {
  return us === NEVER ? null : Math.ceil(us / 1_000);
}
