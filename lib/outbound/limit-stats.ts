/** Shorter waits are those of timers and of the network, not of a limit. */
export const DELAYED_OVER_MS = 10;

/** What has happened to the requests to one domain, at one moment. */
export interface LimitStatsSnapshot {
  /** Permits that were given. */
  readonly totalRequests: number;
  /** Permits that were waited for, for more than 10 ms. */
  readonly delayedRequests: number;
  /** What the delayed ones waited, all together. */
  readonly totalWaitMs: number;
  /** What a delayed one waited; 0 when none did. */
  readonly averageWaitMs: number;
  /** The share of the delayed ones, from 0 to 1. */
  readonly delayRate: number;
  /** When the last permit was given. */
  readonly lastRequestTime: Date | undefined;
  /** Requests that gave up before they got a permit. They count nowhere else. */
  readonly cancelledRequests: number;
}

/** The stats of a domain as JSON writes them. */
export interface LimitStatsJson {
  /** The host that was called. */
  readonly domain: string;
  /** Permits that were given. */
  readonly total_requests: number;
  /** Permits that were waited for, for more than 10 ms. */
  readonly delayed_requests: number;
  /** What the delayed ones waited, all together. */
  readonly total_wait_time_ms: number;
  /** What a delayed one waited; 0 when none did. */
  readonly average_wait_time_ms: number;
  /** In ISO 8601; null before the first request. */
  readonly last_request_time: string | null;
  /** The share of the delayed ones, from 0 to 1. */
  readonly delay_rate: number;
  /** Requests that gave up before they got a permit. */
  readonly cancelled_requests: number;
}

/** Counts what happens to the requests to one domain. Recording makes no garbage. */
export class LimitStats {
  #totalRequests = 0;
  #delayedRequests = 0;
  #totalWaitMs = 0;
  // Not undefined: a field that only ever holds numbers is updated in place.
  #lastRequestMs = Number.NaN;
  #cancelledRequests = 0;

  /** A permit was given at `nowMs`, after a wait. */
  recordPermit(waitedMs: number, nowMs: number): void {
    this.#totalRequests++;
    this.#lastRequestMs = nowMs;
    if (!(waitedMs > DELAYED_OVER_MS)) return;
    this.#delayedRequests++;
    this.#totalWaitMs += waitedMs;
  }

  /** A request gave up before it got a permit. */
  recordCancelled(): void {
    this.#cancelledRequests++;
  }

  /** The counts of this moment, and what follows from them. */
  snapshot(): LimitStatsSnapshot {
    const [total, delayed] = [this.#totalRequests, this.#delayedRequests];
    return {
      totalRequests: total,
      delayedRequests: delayed,
      totalWaitMs: this.#totalWaitMs,
      averageWaitMs: delayed === 0 ? 0 : this.#totalWaitMs / delayed,
      delayRate: total === 0 ? 0 : delayed / total,
      lastRequestTime: Number.isNaN(this.#lastRequestMs)
        ? undefined
        : new Date(this.#lastRequestMs),
      cancelledRequests: this.#cancelledRequests,
    };
  }

  /** Forgets everything. */
  reset(): void {
    this.#totalRequests = 0;
    this.#delayedRequests = 0;
    this.#totalWaitMs = 0;
    this.#lastRequestMs = Number.NaN;
    this.#cancelledRequests = 0;
  }
}

/** The stats of a domain, ready to be written as JSON. */
export function limitStatsJson(domain: string, stats: LimitStatsSnapshot): LimitStatsJson {
  return {
    domain,
    total_requests: stats.totalRequests,
    delayed_requests: stats.delayedRequests,
    total_wait_time_ms: stats.totalWaitMs,
    average_wait_time_ms: stats.averageWaitMs,
    last_request_time: stats.lastRequestTime?.toISOString() ?? null,
    delay_rate: stats.delayRate,
    cancelled_requests: stats.cancelledRequests,
  };
}
