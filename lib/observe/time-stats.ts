import type { RecordableHistogram } from 'node:perf_hooks';
import { createHistogram } from 'node:perf_hooks';
import type { TimeStats } from './stats-snapshot.js';

/** Upper bounds of what metrics tell apart, those of the OpenTelemetry conventions and a minute more. */
export const TIME_BUCKETS_SECONDS: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60,
];

const BUCKETS_MS = TIME_BUCKETS_SECONDS.map((seconds) => seconds * 1_000);
const US_PER_MS = 1_000;
/** A day: longer times are counted as that long. */
const LONGEST_US = 86_400_000_000;

const NOTHING: TimeStats = Object.freeze({
  ...{ count: 0, sumMs: 0, meanMs: 0, p50Ms: 0, p95Ms: 0, p99Ms: 0, maxMs: 0 },
  buckets: Object.freeze(BUCKETS_MS.map(() => 0)),
});

/** Keeps how long something took, to two figures, in 40 KB that are taken when first needed. */
export class TimeRecord {
  #histogram: RecordableHistogram | undefined;
  readonly #buckets: number[] = [];
  #sumMs = 0;
  #maxMs = 0;

  record(milliseconds: number): void {
    const ms = milliseconds > 0 ? milliseconds : 0;
    // Two figures: three would take ten times the room.
    this.#histogram ??= createHistogram({ lowest: 1, highest: LONGEST_US, figures: 2 });
    this.#histogram.record(Math.min(LONGEST_US, Math.max(1, Math.round(ms * US_PER_MS))));
    this.#sumMs += ms;
    if (ms > this.#maxMs) this.#maxMs = ms;
    const bucket = BUCKETS_MS.findIndex((bound) => ms <= bound);
    if (bucket !== -1) this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
  }

  snapshot(): TimeStats {
    const histogram = this.#histogram;
    if (!histogram) return NOTHING;
    const { count } = histogram;
    // The histogram knows a range only, of which it tells the upper end.
    const at = (percent: number) =>
      Math.min(this.#maxMs, histogram.percentile(percent) / US_PER_MS);
    let below = 0;
    return {
      count,
      sumMs: this.#sumMs,
      meanMs: this.#sumMs / count,
      p50Ms: at(50),
      p95Ms: at(95),
      p99Ms: at(99),
      maxMs: this.#maxMs,
      buckets: BUCKETS_MS.map((_, i) => (below += this.#buckets[i] ?? 0)),
    };
  }
}
