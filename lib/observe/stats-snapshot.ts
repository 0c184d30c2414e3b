import type { FailurePolicy, Plan } from '../core/plan.js';
import type { ThrottleState } from '../outbound/adaptive-throttler.js';
import type { OutboundRefusal } from '../outbound/outbound-listener.js';
import type { DomainView } from '../outbound/rule-view.js';

/** What has happened in this process since it started or was reset, at one moment. */
export interface RateLimitSnapshot {
  /** When it was taken: milliseconds since 1970, as all times that end in `AtMs`. */
  readonly takenAtMs: number;
  /** Since when it is counted. */
  readonly sinceAtMs: number;
  /** Requests, each counted once however many limits it had to pass. */
  readonly totals: Totals;
  /** Plans that were used, and those that are written in the options, by name. */
  readonly plans: readonly PolicyStats[];
  /** Levels of the gateway that were asked, as `server-qps` or `backend-connections:api`. */
  readonly gateway: readonly PolicyStats[];
  /** Rules of domains that were called, as `*.example.com` or `default`. */
  readonly outbound: readonly OutboundStats[];
  readonly topKeys: TopKeys;
  /** The last denials, the latest first: 50 at most. */
  readonly lastDenials: readonly DenialStats[];
  readonly store: StoreStats;
  readonly config: ConfigStats;
}

/** Requests by what became of them. Every request is one of the first three. */
export interface Totals {
  /** May pass at once. */
  readonly allowed: number;
  /** May pass after a wait. */
  readonly delayed: number;
  readonly denied: number;
  /** How often a shadow plan said no. */
  readonly shadowDenied: number;
  /** Those that were decided without the store, by what was done instead. */
  readonly failedOpen: number;
  readonly failedClosed: number;
  readonly failedLocal: number;
}

/**
 * What has happened under one plan, or at one level of a gateway. A request that another plan of its
 * chain denied is not counted here: it cost this plan nothing.
 */
export interface PolicyStats {
  /** Name of the plan or of the level; `_other` for all beyond the first 200. */
  readonly policy: string;
  readonly kind: Plan['kind'];
  /** What it holds in all: its capacity, limit or slots. −1 is no limit, 0 denies all. */
  readonly quota: number;
  /** Milliseconds in which the quota is restored; 0 for concurrency. */
  readonly windowMs: number;
  /** Whether its no is only reported. */
  readonly shadow: boolean;
  readonly allowed: number;
  /** Those among the allowed that were booked for later. */
  readonly delayed: number;
  readonly denied: number;
  /** Those among the denied that no wait would have helped, since the plan denies all (0). */
  readonly deniedByZero: number;
  /** Those among the denied that were known from before, without the store being asked. */
  readonly fromDenyCache: number;
  /** How often it said no as a shadow. */
  readonly shadowDenied: number;
  /** Those among the allowed that left a fifth of the quota or less. */
  readonly nearLimit: number;
  /** Those among the allowed that the store did not answer, and those among the denied. */
  readonly failedOpen: number;
  readonly failedClosed: number;
  /** Those among both that were decided in this process alone. */
  readonly failedLocal: number;
  /** How often tokens were given back. */
  readonly refunds: number;
  /** Slots that this process holds now. */
  readonly leasesHeld: number;
  /** How long slots were held before they were given back. */
  readonly leaseTimes: TimeStats;
  /** The largest share of the quota that any one key had used lately, from 0 to 1. */
  readonly peakUse: number;
  /** How long those that were booked for later have to wait. */
  readonly waits: TimeStats;
}

/** What has happened to calls to the domains of one rule. */
export interface OutboundStats {
  /** The rule: a name, a wildcard or `default`; `_other` for all beyond the first 200. */
  readonly policy: string;
  readonly requestsPerSecond: number;
  readonly burstCapacity: number;
  /** Calls that may be under way at once; −1 is no limit, 0 refuses all. */
  readonly maxConcurrent: number;
  /** Permits that were given at once, within 10 ms. */
  readonly allowed: number;
  /** Permits that were waited for. */
  readonly delayed: number;
  /** Calls that got no permit, by what stood in the way. */
  readonly denied: Readonly<Record<OutboundRefusal, number>>;
  /** Calls under way in this process, where they are limited. */
  readonly leasesHeld: number;
  readonly leaseTimes: TimeStats;
  /** Calls that wait in this process now. */
  readonly waiting: number;
  /** How long the first of them has waited. */
  readonly oldestWaitMs: number;
  /** How long permits were waited for. */
  readonly waits: TimeStats;
  /** How long those waited whose time was over, or who were aborted. */
  readonly timeouts: TimeStats;
  readonly cancellations: TimeStats;
  readonly cooldown: CooldownStats;
  /** Domains of the rule that somebody waits for or that cool down, 20 at most. */
  readonly domains: readonly DomainView[];
}

/** Whether calls pause: `trying` while one call finds out whether a cooldown is over. */
export type CooldownState = ThrottleState['status'];

/** The cooldowns of the domains of one rule. */
export interface CooldownStats {
  /** `cooling` while any of its domains is. */
  readonly state: CooldownState;
  /** What is left of the longest one. */
  readonly remainingMs: number;
  /** How often a domain began to cool down, as far as this process heard. */
  readonly opened: number;
  /** How often one was over. */
  readonly recovered: number;
}

/** How long something took, all of it in milliseconds; zeros while nothing was recorded. */
export interface TimeStats {
  readonly count: number;
  readonly sumMs: number;
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** How many took no longer than each of `TIME_BUCKETS_SECONDS`, those below included. */
  readonly buckets: readonly number[];
}

/** Who asks most, and who is denied most: 20 each, masked. Counts are estimates under load. */
export interface TopKeys {
  readonly requests: readonly TopKey[];
  readonly denials: readonly TopKey[];
}

/** A key that occurs often. */
export interface TopKey {
  /** The key as it may be shown: a few characters, and a tag that tells equal masks apart. */
  readonly key: string;
  /** The plan that counted it last. */
  readonly policy: string;
  /** How often, at most. */
  readonly count: number;
  /** How much of that may be somebody else's. */
  readonly error: number;
}

/** A request that was denied. */
export interface DenialStats {
  readonly atMs: number;
  /** The plan that said no. */
  readonly policy: string;
  /** Masked. */
  readonly key: string;
  /** When it would be allowed; null for never. */
  readonly retryAfterMs: number | null;
}

/** How the store is. */
export interface StoreStats {
  readonly kind: 'memory' | 'redis' | 'custom';
  /** `failing` while limits of some server are not shared. */
  readonly status: 'up' | 'failing';
  /** What happens meanwhile to plans that do not say. */
  readonly onStoreFailure: FailurePolicy;
  /** Since when it is not up; null while it is. */
  readonly failingSinceAtMs: number | null;
  /** Servers that are away now or were, the latest first: 50 at most. */
  readonly servers: readonly ServerStats[];
  /** Keys of plans that held something else, so that they were decided without the store. */
  readonly unreadable: number;
  /** Limits that the embedded store remembers, and those that it had to forget; null elsewhere. */
  readonly keys: number | null;
  readonly evictions: number | null;
  /** Round trips, by what was asked. */
  readonly operations: readonly OperationStats[];
}

/** A server of the store that was in trouble. */
export interface ServerStats {
  /** Its name; '' where there is only one. */
  readonly server: string;
  readonly breaker: 'open' | 'closed';
  /** Since when the breaker is as it is. */
  readonly sinceAtMs: number;
  /** Why it opened last. */
  readonly reason: string;
  /** How often it has opened. */
  readonly outages: number;
  /** Decisions that were made without it, in outages that are over. */
  readonly decidedWithout: number;
}

/** Round trips of one kind. */
export interface OperationStats {
  readonly operation: string;
  /** What went wrong; '' for those that were answered. */
  readonly error: string;
  readonly times: TimeStats;
}

/** How often limits were changed while running. */
export interface ConfigStats {
  readonly reloads: number;
  /** Those that were refused, so that what was there stayed. */
  readonly failedReloads: number;
  /** When limits were last taken over: at the start, or since. */
  readonly lastSuccessAtMs: number;
}

/** One second, told as requests per second. */
export interface SeriesPoint {
  readonly atMs: number;
  readonly allowed: number;
  readonly delayed: number;
  readonly denied: number;
}
