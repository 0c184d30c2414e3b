import type { Decision, Inquiry, Limit, LimitDecision } from '../core/limit-store.js';
import { DenialLog } from './denial-log.js';
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
 * the same plans are used, and looks at no clock unless somebody is denied. What is used for every
 * decision has no `#`: such names take more instructions, and the compiler then has less room for
 * the rest.
 */
export class Tally {
  /** All but those that `countAllowed` counts. */
  readonly others: { -readonly [Name in keyof Totals]: number } = {
    allowed: 0,
    delayed: 0,
    denied: 0,
    shadowDenied: 0,
    failedOpen: 0,
    failedClosed: 0,
    failedLocal: 0,
  };
  readonly policies = new PolicyBook();
  private readonly recent = this.policies.recent;
  /** Those that may pass at once: the only number that nearly every decision changes. */
  private allowed = 0;
  readonly lastDenials = new DenialLog();
  readonly #sampler: Sampler;
  /** So many that are allowed until one is looked at more closely. */
  private sampleAt = 1;
  readonly #deniedSampler: Sampler;
  #untilDeniedSample = 1;

  constructor(
    private readonly topic: Topic<WaitMessage>,
    private readonly ties: TallyTies,
  ) {
    this.#sampler = new Sampler(ties.nowMs, ties.random);
    this.#deniedSampler = new Sampler(ties.nowMs, ties.random);
  }

  /** Whether every request was looked at, and every denial: keys are counted exactly then. */
  get isComplete(): { readonly requests: boolean; readonly denials: boolean } {
    return { requests: !this.#sampler.hasSkipped, denials: !this.#deniedSampler.hasSkipped };
  }

  get totals(): Totals {
    return { ...this.others, allowed: this.others.allowed + this.allowed };
  }

  /** Counts a request that may pass at once, as nearly all may. */
  countAllowed(limits: readonly LimitDecision[]): void {
    const allowed = ++this.allowed;
    const { recent } = this;
    for (let i = 0; i < limits.length; i++) {
      const { limit, admits, remaining } = limits[i]!;
      let counters = recent[i];
      // As `find` does: a call for each limit would cost as much again.
      if (counters?.plan !== limit.plan || counters.label !== limit.seenAs) {
        counters = this.policies.find(limit, i);
      }
      if (!admits) this.countShadow(counters);
      else {
        counters.allowed++;
        if (remaining <= counters.lookBelow) counters.noteLeft(remaining, limit.plan);
      }
    }
    if (allowed >= this.sampleAt) this.sample(limits);
  }

  /** Counts any other decision of an inquiry that was to spend. */
  countOther({ limits }: Inquiry, decision: Decision): void {
    if (decision.failure !== undefined) this.#countFailure(limits, decision);
    else if (decision.allowed) this.#countSlowly(decision);
    else this.#countDenied(decision);
    this.#maySample(limits, decision);
  }

  /** Counts what limits of 0 said; of a chain that they did not deny, the rest is counted by itself. */
  countClosed(decision: Decision): void {
    if (!decision.allowed) {
      this.#countDenied(decision);
      return this.#maySample([], decision);
    }
    for (const { limit } of decision.limits) this.countShadow(this.policies.of(limit));
    return undefined;
  }

  countRefund(limits: readonly Limit[]): void {
    for (const limit of limits) this.policies.of(limit).refunds++;
  }

  reset(): void {
    for (const name of Object.keys(this.others) as (keyof Totals)[]) this.others[name] = 0;
    this.allowed = 0;
    this.sampleAt = 1;
    this.#untilDeniedSample = 1;
    this.#sampler.hasSkipped = false;
    this.#deniedSampler.hasSkipped = false;
    this.policies.clear();
    this.lastDenials.clear();
  }

  /** Also what was decided in this process alone. */
  #countSlowly({ limits, waitUs: longestUs }: Decision): void {
    if (longestUs > 0) this.others.delayed++;
    else this.others.allowed++;
    for (const [i, { limit, admits, remaining, waitUs }] of limits.entries()) {
      const counters = this.policies.find(limit, i);
      if (!admits) this.countShadow(counters);
      else {
        counters.allowed++;
        counters.noteLeft(remaining, limit.plan);
        if (waitUs > 0) this.#noteWait(counters, waitUs / 1_000);
      }
    }
  }

  #countDenied({ limits, waitUs, fromCache }: Decision): void {
    const weight = this.#weightOfDenial();
    let first: Limit | undefined;
    for (let i = 0; i < limits.length; i++) {
      const { limit, admits } = limits[i]!;
      if (admits) continue;
      const counters = this.policies.find(limit, i);
      if (limit.plan.shadow) this.countShadow(counters);
      else {
        counters.noteDenial(limit.plan, fromCache === true);
        if (weight > 0 && isOfCaller(limit)) counters.deniedKeys.add(limit.key, weight);
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

  private countShadow(counters: PolicyCounters): void {
    counters.shadowDenied++;
    this.others.shadowDenied++;
  }

  /** The store could not answer: what was said is about some of the limits at most. */
  #countFailure(asked: readonly Limit[], decision: Decision): void {
    const { failure, allowed, waitUs } = decision;
    if (failure === 'open') this.others.failedOpen++;
    else if (failure === 'closed') this.others.failedClosed++;
    else this.others.failedLocal++;
    for (const limit of asked) this.policies.of(limit).noteFailure(failure!);
    if (failure === 'local' && !allowed) return this.#countDenied(decision);
    if (failure === 'local') return this.#countSlowly(decision);
    if (allowed) this.others.allowed++;
    else this.#countClosedFailure(asked, waitUs);
    return undefined;
  }

  /** Every plan that was asked counts as one that denied. */
  #countClosedFailure(asked: readonly Limit[], waitUs: number): void {
    const weight = this.#weightOfDenial();
    for (const limit of asked) {
      if (weight > 0 && isOfCaller(limit)) {
        this.policies.of(limit).deniedKeys.add(limit.key, weight);
      }
    }
    this.#noteDenial(asked[0]!, waitUs);
  }

  #noteDenial(limit: Limit, waitUs: number): void {
    this.others.denied++;
    const { policy } = this.policies.of(limit);
    this.lastDenials.add(this.ties.timeMs(), policy, limit.key, waitUs);
  }

  /** For how many denials this one stands; 0 when it is not looked at. */
  #weightOfDenial(): number {
    if (--this.#untilDeniedSample > 0) return 0;
    const { weight } = this.#deniedSampler;
    this.#untilDeniedSample = this.#deniedSampler.next();
    return weight;
  }

  private sample(limits: readonly LimitDecision[]): void {
    const { weight } = this.#sampler;
    for (let i = 0; i < limits.length; i++) {
      const { limit } = limits[i]!;
      if (isOfCaller(limit)) this.policies.find(limit, i).keys.add(limit.key, weight);
    }
    this.sampleAt = this.allowed + this.#sampler.next();
  }

  /** Keys count where their request does: of a denied one, under the plans that said no. */
  #maySample(asked: readonly Limit[], { allowed, failure, limits }: Decision): void {
    if (--this.sampleAt > this.allowed) return;
    if (failure === 'open' || failure === 'closed') for (const limit of asked) this.#noteKey(limit);
    else {
      for (const { limit, admits } of limits) if (allowed || !admits) this.#noteKey(limit);
    }
    this.sampleAt = this.allowed + this.#sampler.next();
  }

  #noteKey(limit: Limit): void {
    if (isOfCaller(limit)) this.policies.of(limit).keys.add(limit.key, this.#sampler.weight);
  }
}

function isOfCaller({ seenAs }: Limit): boolean {
  return seenAs === undefined || seenAs.isOfCaller;
}
