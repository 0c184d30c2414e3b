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
  /** Plans that are declared, and those that came while running and were used. */
  readonly plans: readonly PolicyStats[];
  /** Levels of the gateway that are limited, as `server-qps` or `backend-connections:api`. */
  readonly gateway: readonly PolicyStats[];
  /** Rules that are declared, and those that came while running and were used, as `*.example.com` or `default`. */
  readonly outbound: readonly OutboundStats[];
  /** Who asks most, and who is denied most: 20 each, of all plans and levels. */
  readonly topKeys: TopKeys;
  /** The last denials, the latest first: 50 at most. */
  readonly lastDenials: readonly DenialStats[];
  /** What remembers the limits, and how it is. */
  readonly store: StoreStats;
  /** Changes of limits while running; counted since the start, whatever was reset. */
  readonly config: ConfigStats;
}

/** Requests by what became of them. Every request is one of the first three. */
export interface Totals {
  /** May pass at once. */
  readonly allowed: number;
  /** May pass after a wait. */
  readonly delayed: number;
  /** May not pass, or got no permit. */
  readonly denied: number;
  /** How often a shadow plan said no. */
  readonly shadowDenied: number;
  /** How many of the allowed were let pass because the store did not answer. */
  readonly failedOpen: number;
  /** How many of the denied were refused because the store did not answer. */
  readonly failedClosed: number;
  /** Requests that were decided in this process alone because the store did not answer. */
  readonly failedLocal: number;
}

/**
 * What has happened under one plan, or at one level of a gateway. A request that another plan of its
 * chain denied is not counted here: it cost this plan nothing.
 */
export interface PolicyStats {
  /**
   * Name of the plan or of the level. What came while running shares `_other` or `_other_levels`
   * beyond the first 200 names.
   */
  readonly policy: string;
  readonly kind: Plan['kind'];
  /** What it holds in all: its capacity, limit or slots. −1 is no limit, 0 denies all. */
  readonly quota: number;
  /** Milliseconds in which the quota is restored; 0 for concurrency. */
  readonly windowMs: number;
  /** Whether its no is only reported. */
  readonly shadow: boolean;
  /** Requests that passed under it, those booked for later included. */
  readonly allowed: number;
  /** How many of the allowed were booked for later. */
  readonly delayed: number;
  /** Requests that it said no to. One that several plans said no to counts under each. */
  readonly denied: number;
  /** How many of the denied no wait would have helped, since the plan denies all (0). */
  readonly deniedByZero: number;
  /** How many of the denied were known from before, without the store being asked. */
  readonly fromDenyCache: number;
  /** How often it said no as a shadow. */
  readonly shadowDenied: number;
  /** How many of the allowed left a fifth of the quota or less. */
  readonly nearLimit: number;
  /** How many of the allowed were let pass because the store did not answer. */
  readonly failedOpen: number;
  /** How many of the denied were refused because the store did not answer. */
  readonly failedClosed: number;
  /** Requests that were decided in this process alone because the store did not answer. */
  readonly failedLocal: number;
  /** How often tokens were given back. */
  readonly refunds: number;
  /** Slots that this process holds now. */
  readonly leasesHeld: number;
  /** How long slots were held before they were given back. */
  readonly leaseTimes: TimeStats;
  /** The largest share of the quota that any one key had used lately, from 0 to 1; 0 for `_other`. */
  readonly peakUse: number;
  /** How long those that were booked for later have to wait. */
  readonly waits: TimeStats;
  /** Who asks most of it, and whom it denies most: 3 each. None for levels that count no callers. */
  readonly topKeys: TopKeys;
}

/** What has happened to calls to the domains of one rule. */
export interface OutboundStats {
  /**
   * The rule: a name, a wildcard or `default`. What came while running shares `_other` beyond the first
   * 200 rules.
   */
  readonly policy: string;
  /** Calls to each domain that are let go each second; 0 for `_other`. */
  readonly requestsPerSecond: number;
  /** Calls to each domain that may go at once after a pause; 0 for `_other`. */
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
  /** How long calls were under way, where that is limited. */
  readonly leaseTimes: TimeStats;
  /** Calls that wait in this process now. */
  readonly waiting: number;
  /** How long the first of them has waited. */
  readonly oldestWaitMs: number;
  /** How long permits were waited for. */
  readonly waits: TimeStats;
  /** How long those waited whose time was over. */
  readonly timeouts: TimeStats;
  /** How long those waited that were aborted. */
  readonly cancellations: TimeStats;
  /** Whether domains of the rule cool down, and how often they did. */
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
  /** How often a cooldown was opened or prolonged, as far as this process heard. */
  readonly opened: number;
  /** How often one was over. */
  readonly recovered: number;
}

/** How long something took, all of it in milliseconds; zeros while nothing was recorded. */
export interface TimeStats {
  /** How many were recorded. */
  readonly count: number;
  /** All of them together. */
  readonly sumMs: number;
  /** The sum divided by the count. */
  readonly meanMs: number;
  /** What half of them did not exceed, to two figures and rounded up. */
  readonly p50Ms: number;
  /** What 95 % of them did not exceed, to two figures and rounded up. */
  readonly p95Ms: number;
  /** What 99 % of them did not exceed, to two figures and rounded up. */
  readonly p99Ms: number;
  /** The longest of them, exactly. */
  readonly maxMs: number;
  /** How many took no longer than each of `TIME_BUCKETS_SECONDS`, those below included. */
  readonly buckets: readonly number[];
}

/**
 * Who asks most, and who is denied most, masked. A key is counted for each plan by itself, and is
 * there once for each of them.
 */
export interface TopKeys {
  /** Keys of the most requests, denied ones included, the most frequent first. */
  readonly requests: readonly TopKey[];
  /** Keys of the most denied requests, the most frequent first. */
  readonly denials: readonly TopKey[];
}

/**
 * A key that occurs often under a plan. It is counted exactly where `atLeast` and `atMost` are the
 * same.
 */
export interface TopKey {
  /** The key as it may be shown: a few characters, and a tag that tells equal masks apart. */
  readonly key: string;
  /** The plan that counted it, or the level of a gateway. */
  readonly policy: string;
  /** How often it occurred, as well as it is known. */
  readonly count: number;
  /** How often it was seen: the key occurred no less often. */
  readonly atLeast: number;
  /** How often it may have occurred; null under load, when not every request was looked at. */
  readonly atMost: number | null;
}

/** A request that was denied. */
export interface DenialStats {
  /** When it was denied: milliseconds since 1970. */
  readonly atMs: number;
  /** The plan that said no. */
  readonly policy: string;
  /** Who was denied, masked: a few characters, and a tag that tells equal masks apart. */
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
  /** Limits that the embedded store remembers now; null elsewhere. */
  readonly keys: number | null;
  /** Limits that the embedded store forgot for want of room, since it was made; null elsewhere. */
  readonly evictions: number | null;
  /** Round trips, by what was asked. */
  readonly operations: readonly OperationStats[];
}

/** A server of the store that was in trouble. */
export interface ServerStats {
  /** Name of the server; '' where there is only one. */
  readonly server: string;
  /** `open` while limits that live on it are decided without it. */
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
  /** What was asked of the store, in a word: `decide`, `renew` and so on. */
  readonly operation: string;
  /** What went wrong; '' for those that were answered. */
  readonly error: string;
  /** How long they took. One round trip may carry many decisions. */
  readonly times: TimeStats;
}

/** How often limits were changed while running. */
export interface ConfigStats {
  /** Changes that were taken over: of plans, of outbound rules, of the gateway. */
  readonly reloads: number;
  /** Changes that were refused, so that what was there stayed. */
  readonly failedReloads: number;
  /** When limits were last taken over: at the start, or since. */
  readonly lastSuccessAtMs: number;
}

/** One second, told as requests per second. */
export interface SeriesPoint {
  /** When the second ended: milliseconds since 1970. */
  readonly atMs: number;
  /** Requests that may pass at once. */
  readonly allowed: number;
  /** Requests that may pass after a wait. */
  readonly delayed: number;
  /** Requests that may not pass. */
  readonly denied: number;
}
