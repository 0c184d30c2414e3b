import type { Decision, Inquiry, LimitDecision, Limit } from '../core/limit-store.js';
import { DENY_ALL } from '../core/plan.js';
import { DenialLog } from './denial-log.js';
import { HeavyHitters } from './heavy-hitters.js';
import { PolicyBook } from './policy-book.js';
import type { PolicyCounters } from './policy-counters.js';
import { Sampler } from './sampler.js';
import type { Totals } from './stats-snapshot.js';

/** The share of a quota that, when left, is called near the limit. */
const NEAR_LIMIT_LEFT = 0.2;

/** What counting needs to know of the world. */
export interface TallyTies {
  /** Never runs backwards. */
  readonly nowMs: () => number;
  /** The time of day. */
  readonly timeMs: () => number;
  readonly random: () => number;
}

/**
 * Counts decisions. Cheap enough for every one of them: it allocates nothing, hashes nothing while
 * the same plans are used, and looks at no clock unless somebody is denied.
 */
export class Tally {
  readonly totals: { -readonly [Name in keyof Totals]: number } = {
    allowed: 0,
    delayed: 0,
    denied: 0,
    shadowDenied: 0,
    failedOpen: 0,
    failedClosed: 0,
    failedLocal: 0,
  };
  readonly policies = new PolicyBook();
  readonly requests = new HeavyHitters();
  readonly denials = new HeavyHitters();
  readonly lastDenials = new DenialLog();
  readonly #allowedSampler: Sampler;
  readonly #deniedSampler: Sampler;

  constructor(private readonly ties: TallyTies) {
    this.#allowedSampler = new Sampler(ties.nowMs, ties.random);
    this.#deniedSampler = new Sampler(ties.nowMs, ties.random);
  }

  /** Counts a decision of an inquiry that was to spend. */
  count(inquiry: Inquiry, decision: Decision): void {
    if (decision.failure !== undefined) this.#countFailure(inquiry.limits, decision);
    else if (decision.allowed) this.#countAllowed(decision);
    else this.#countDenied(decision);
    if (this.#allowedSampler.isDue) this.#sample(inquiry.limits);
  }

  /** Counts what limits of 0 said; of a chain that they did not deny, the rest is counted by itself. */
  countClosed(decision: Decision): void {
    if (!decision.allowed) return this.#countDenied(decision);
    this.#countShadows(decision.limits);
    return undefined;
  }

  countRefund(limits: readonly Limit[]): void {
    for (const limit of limits) this.policies.of(limit).refunds++;
  }

  reset(): void {
    for (const name of Object.keys(this.totals) as (keyof Totals)[]) this.totals[name] = 0;
    this.policies.clear();
    this.requests.clear();
    this.denials.clear();
    this.lastDenials.clear();
  }

  #countAllowed({ waitUs, limits }: Decision): void {
    if (waitUs > 0) this.totals.delayed++;
    else this.totals.allowed++;
    let shadows = 0;
    for (let i = 0; i < limits.length; i++) {
      const one = limits[i]!;
      const counters = this.policies.find(one.limit, i);
      if (one.admits) countAdmitted(counters, one);
      else {
        counters.shadowDenied++;
        shadows++;
      }
    }
    if (shadows > 0) this.totals.shadowDenied++;
  }

  #countDenied({ limits, waitUs, fromCache }: Decision): void {
    this.totals.denied++;
    let first: LimitDecision | undefined;
    let name = '';
    for (let i = 0; i < limits.length; i++) {
      const one = limits[i]!;
      if (one.admits) continue;
      const counters = this.policies.find(one.limit, i);
      if (one.limit.plan.shadow) {
        counters.shadowDenied++;
        continue;
      }
      counters.denied++;
      if (fromCache) counters.fromDenyCache++;
      if (one.limit.plan.quota === DENY_ALL) counters.deniedByZero++;
      if (first === undefined) [first, name] = [one, counters.policy];
    }
    if (first === undefined) return;
    const { key } = first.limit;
    this.lastDenials.add(this.ties.timeMs(), name, key, waitUs);
    if (!this.#deniedSampler.isDue) return;
    if (isOfCaller(first.limit)) this.denials.add(key, name, this.#deniedSampler.weight);
    this.#deniedSampler.next();
  }

  #countShadows(limits: readonly LimitDecision[]): void {
    this.totals.shadowDenied++;
    for (let i = 0; i < limits.length; i++) this.policies.find(limits[i]!.limit, i).shadowDenied++;
  }

  /** The store could not answer: what it said is about some of the limits at most. */
  #countFailure(asked: readonly Limit[], decision: Decision): void {
    const { failure, allowed } = decision;
    if (failure === 'open') this.totals.failedOpen++;
    else if (failure === 'closed') this.totals.failedClosed++;
    else this.totals.failedLocal++;
    if (!allowed && failure === 'local') this.#countDenied(decision);
    else if (!allowed) this.totals.denied++;
    else if (decision.waitUs > 0) this.totals.delayed++;
    else this.totals.allowed++;
    for (let i = 0; i < asked.length; i++) {
      const counters = this.policies.find(asked[i]!, i);
      if (failure === 'open') counters.failedOpen++;
      else if (failure === 'closed') counters.failedClosed++;
      else counters.failedLocal++;
    }
  }

  #sample(limits: readonly Limit[]): void {
    // From behind: the last level of a gateway is the client.
    for (let i = limits.length - 1; i >= 0; i--) {
      const limit = limits[i]!;
      if (!isOfCaller(limit)) continue;
      const { policy } = this.policies.of(limit);
      this.requests.add(limit.key, policy, this.#allowedSampler.weight);
      break;
    }
    this.#allowedSampler.next();
  }
}

function countAdmitted(
  counters: PolicyCounters,
  { limit, remaining, waitUs }: LimitDecision,
): void {
  counters.allowed++;
  if (remaining < counters.fewestLeft) counters.fewestLeft = remaining;
  if (remaining <= limit.plan.quota * NEAR_LIMIT_LEFT) counters.nearLimit++;
  if (waitUs > 0) countDelayed(counters, waitUs);
}

function countDelayed(counters: PolicyCounters, waitUs: number): void {
  counters.delayed++;
  counters.waits.record(waitUs / 1_000);
}

function isOfCaller({ seenAs }: Limit): boolean {
  return seenAs === undefined || seenAs.isOfCaller;
}
