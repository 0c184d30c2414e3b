import type {
  Attributes,
  BatchObservableCallback,
  Histogram,
  Meter,
  Observable,
} from '@opentelemetry/api';
import { metrics } from '@opentelemetry/api';
import type { Metric } from '../metrics.js';
import { DEFAULT_PREFIX, METRICS } from '../metrics.js';
import type { RateLimitEvents } from '../rate-limit-events.js';
import type { RateLimitStats } from '../rate-limit-stats.js';
import { TIME_BUCKETS_SECONDS } from '../time-stats.js';

/** Where metrics go, and what they are called. */
export interface OpenTelemetryOptions {
  /**
   * The meter that makes the instruments.
   * @default metrics.getMeter('nestjs-floodgate')
   */
  readonly meter?: Meter;
  /**
   * Stands before the name of every instrument.
   * @default 'ratelimit'
   */
  readonly prefix?: string;
}

/** What is observed of an application. */
export interface ObservedApplication {
  /** Where counts are read from. */
  readonly stats: RateLimitStats;
  /** Where durations are heard of. */
  readonly events: RateLimitEvents;
}

type Read = Exclude<Metric, { kind: 'histogram' }>['read'];

/**
 * Makes instruments of OpenTelemetry for an application. Counts are read when they are collected,
 * durations recorded as they happen. Returns the function that ends it.
 */
export function observeRateLimits(
  { stats, events }: ObservedApplication,
  {
    meter = metrics.getMeter('nestjs-floodgate'),
    prefix = DEFAULT_PREFIX,
  }: OpenTelemetryOptions = {},
): () => void {
  const histograms = new Map<string, Histogram>();
  const observables = new Map<Observable, Read>();
  for (const metric of METRICS) {
    const name = `${prefix}.${metric.name}`;
    if (metric.kind === 'histogram') histograms.set(metric.name, histogramOf(meter, name, metric));
    else observables.set(observableOf(meter, name, metric), metric.read);
  }
  const observe: BatchObservableCallback = (result) => {
    const snapshot = stats.snapshot();
    for (const [observable, read] of observables) {
      for (const { labels, value } of read(snapshot)) {
        result.observe(observable, value, attributesOf(labels));
      }
    }
  };
  const observed = [...observables.keys()];
  meter.addBatchObservableCallback(observe, observed);
  const stopRecording = recordDurations(stats, events, histograms);
  return () => {
    meter.removeBatchObservableCallback(observe, observed);
    stopRecording();
  };
}

function histogramOf(meter: Meter, name: string, { help, unit }: Metric): Histogram {
  const advice = { explicitBucketBoundaries: [...TIME_BUCKETS_SECONDS] };
  return meter.createHistogram(name, { description: help, unit, advice });
}

function observableOf(meter: Meter, name: string, { kind, help, unit }: Metric): Observable {
  const options = { description: help, unit };
  if (kind === 'counter') return meter.createObservableCounter(name, options);
  if (kind === 'up-down') return meter.createObservableUpDownCounter(name, options);
  return meter.createObservableGauge(name, options);
}

function recordDurations(
  stats: RateLimitStats,
  events: RateLimitEvents,
  histograms: ReadonlyMap<string, Histogram>,
): () => void {
  const record = (name: string, milliseconds: number, attributes: Attributes) =>
    histograms.get(name)!.record(milliseconds / 1_000, attributes);
  const stops = [
    events.on('wait', ({ policy, direction, waitedMs, result }) => {
      if (result !== 'acquired' && result !== 'timeout' && result !== 'canceled') return;
      const counted = stats.countedAs(policy, direction);
      record('wait.duration', waitedMs, { policy: counted, direction, result });
    }),
    events.on('lease', ({ policy, direction, heldMs }) =>
      record('lease.duration', heldMs, { policy: stats.countedAs(policy, direction), direction }),
    ),
    events.on('store', (message) => {
      if (message.event !== 'operation') return;
      const { operation, durationMs, error = '' } = message;
      const labels = { store: stats.storeKind, operation, 'error.type': error };
      record('store.operation.duration', durationMs, attributesOf(labels));
    }),
  ];
  return () => stops.forEach((stop) => stop());
}

/** What is not so is not said: no reason, no error. */
function attributesOf(labels: Readonly<Record<string, string>>): Attributes {
  const said = Object.entries(labels).filter(([, value]) => value !== '');
  return Object.fromEntries(
    said.map(([name, value]) => [name, name === 'dry_run' ? value === 'true' : value]),
  );
}
