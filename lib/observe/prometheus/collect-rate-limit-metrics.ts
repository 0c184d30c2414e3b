import type { Registry } from 'prom-client';
import { register } from 'prom-client';
import { DEFAULT_PREFIX, METRICS } from '../metrics.js';
import type { RateLimitStats } from '../rate-limit-stats.js';
import type { RateLimitSnapshot } from '../stats-snapshot.js';
import { PulledCounter, PulledGauge, PulledHistogram } from './pulled-metrics.js';

/** Where metrics go, and what they are called. */
export interface PrometheusOptions {
  /**
   * The registry that is scraped.
   * @default the global one of prom-client
   */
  readonly registry?: Registry;
  /**
   * Stands before the name of every metric.
   * @default 'ratelimit'
   */
  readonly prefix?: string;
}

/**
 * Adds the metrics of an application to a registry of prom-client. They are read when it is scraped.
 * Returns the function that removes them.
 */
export function collectRateLimitMetrics(
  stats: RateLimitStats,
  { registry = register, prefix = DEFAULT_PREFIX }: PrometheusOptions = {},
): () => void {
  const snapshot = oncePerTurn(() => stats.snapshot());
  const names = METRICS.map((metric) => {
    const name = `${prefix}_${metric.prometheus}`;
    if (metric.kind === 'histogram') {
      new PulledHistogram({ name, metric, registry, read: () => metric.read(snapshot()) });
    } else {
      const pulled = { name, metric, registry, read: () => metric.read(snapshot()) };
      if (metric.kind === 'counter') new PulledCounter(pulled);
      else new PulledGauge(pulled);
    }
    return name;
  });
  return () => names.forEach((name) => registry.removeSingleMetric(name));
}

/** All metrics of one scrape tell of the same moment. */
function oncePerTurn(take: () => RateLimitSnapshot): () => RateLimitSnapshot {
  let taken: RateLimitSnapshot | undefined;
  return () => {
    if (taken === undefined) setImmediate(() => (taken = undefined));
    return (taken ??= take());
  };
}
