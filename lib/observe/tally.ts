import type { Decision, Inquiry, Limit } from '../core/limit-store.js';
import { DenialLog } from './denial-log.js';
import { HeavyHitters } from './heavy-hitters.js';
import { PolicyBook } from './policy-book.js';
import type { PolicyCounters } from './policy-counters.js';
import { Sampler } from './sampler.js';
import type { Topic } from './topics.js';
import type { WaitMessage } from './channels.js';
import type { Totals } from './stats-snapshot.js';

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
  readonly #sampler: Sampler;
  #untilSample = 1;
  readonly #deniedSampler: Sampler;
  #untilDeniedSample = 1;

  constructor(
    private readonly topic: Topic<WaitMessage>,
    private readonly ties: TallyTies,
  ) {
    this.#sampler = new Sampler(ties.nowMs, ties.random);
    this.#deniedSampler = new Sampler(ties.nowMs, ties.random);
  }

  /**
   * Counts a decision of an inquiry that was to spend. One flat loop: every call that is not inlined
   * costs as much as all the counting for a plan.
   */
  count(inquiry: Inquiry, decision: Decision): void {
    const { limits } = decision;
    if (!decision.allowed || decision.waitUs > 0 || decision.failure !== undefined) {
      return this.#countUnusual(inquiry, decision);
    }
    this.totals.allowed++;
    const { recent } = this.policies;
    for (let i = 0; i < limits.length; i++) {
      const { limit, admits, remaining } = limits[i]!;
      let counters = recent[i];
      if (counters?.plan !== limit.plan || counters.label !== limit.seenAs) {
        counters = this.policies.find(limit, i);
      }
      if (!admits) this.#countShadow(counters);
      else {
        counters.allowed++;
        if (remaining <= counters.lookBelow) counters.noteLeft(remaining);
      }
    }
    if (--this.#untilSample <= 0) this.#sample(inquiry.limits);
  }

  /** Counts what limits of 0 said; of a chain that they did not deny, the rest is counted by itself. */
  countClosed(decision: Decision): void {
    if (!decision.allowed) return this.#countDenied(decision);
    for (const { limit } of decision.limits) this.#countShadow(this.policies.of(limit));
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

  #countUnusual(inquiry: Inquiry, decision: Decision): void {
    if (decision.failure !== undefined) this.#countFailure(inquiry.limits, decision);
    else if (decision.allowed) this.#countSlowly(decision);
    else this.#countDenied(decision);
    if (--this.#untilSample <= 0) this.#sample(inquiry.limits);
  }

  /** Also what was decided in this process alone. */
  #countSlowly({ limits, waitUs: longestUs }: Decision): void {
    if (longestUs > 0) this.totals.delayed++;
    else this.totals.allowed++;
    for (const [i, { limit, admits, remaining, waitUs }] of limits.entries()) {
      const counters = this.policies.find(limit, i);
      if (!admits) this.#countShadow(counters);
      else {
        counters.allowed++;
        counters.noteLeft(remaining);
        if (waitUs > 0) this.#noteWait(counters, waitUs / 1_000);
      }
    }
  }

  #countDenied({ limits, waitUs, fromCache }: Decision): void {
    let first: Limit | undefined;
    for (let i = 0; i < limits.length; i++) {
      const { limit, admits } = limits[i]!;
      if (admits) continue;
      const counters = this.policies.find(limit, i);
      if (limit.plan.shadow) this.#countShadow(counters);
      else {
        counters.noteDenial(fromCache === true);
        first ??= limit;
      }
    }
    if (first) this.#noteDenial(first, waitUs);
  }

  #noteWait(counters: PolicyCounters, waitedMs: number): void {
    counters.noteWait(waitedMs);
    const { policy } = counters;
    if (!this.topic.isHeard) return;
    this.topic.publish({ policy, direction: 'inbound', waitedMs, result: 'acquired' });
  }

  #countShadow(counters: PolicyCounters): void {
    counters.shadowDenied++;
    this.totals.shadowDenied++;
  }

  /** The store could not answer: what was said is about some of the limits at most. */
  #countFailure(asked: readonly Limit[], decision: Decision): void {
    const { failure, allowed, waitUs } = decision;
    if (failure === 'open') this.totals.failedOpen++;
    else if (failure === 'closed') this.totals.failedClosed++;
    else this.totals.failedLocal++;
    for (const limit of asked) this.policies.of(limit).noteFailure(failure!);
    if (failure === 'local' && !allowed) return this.#countDenied(decision);
    if (failure === 'local') return this.#countSlowly(decision);
    if (allowed) this.totals.allowed++;
    else this.#noteDenial(asked[0]!, waitUs);
    return undefined;
  }

  #noteDenial(limit: Limit, waitUs: number): void {
    this.totals.denied++;
    const { policy } = this.policies.of(limit);
    this.lastDenials.add(this.ties.timeMs(), policy, limit.key, waitUs);
    if (--this.#untilDeniedSample > 0) return;
    if (isOfCaller(limit)) this.denials.add(limit.key, policy, this.#deniedSampler.weight);
    this.#untilDeniedSample = this.#deniedSampler.next();
  }

  #sample(limits: readonly Limit[]): void {
    // From behind: the last level of a gateway is the client.
    for (let i = limits.length - 1; i >= 0; i--) {
      const limit = limits[i]!;
      if (!isOfCaller(limit)) continue;
      const { policy } = this.policies.of(limit);
      this.requests.add(limit.key, policy, this.#sampler.weight);
      break;
    }
    this.#untilSample = this.#sampler.next();
  }
}

function isOfCaller({ seenAs }: Limit): boolean {
  return seenAs === undefined || seenAs.isOfCaller;
}
