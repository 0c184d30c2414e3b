import type { Aggregator, MetricType, Registry } from 'prom-client';
import { Counter, Gauge, Histogram } from 'prom-client';
import type { Metric } from '../metrics.js';
import type { Labels, Sample, TimesSample } from '../sample.js';
import { TIME_BUCKETS_SECONDS } from '../time-stats.js';

/** How the workers of a cluster are put together. */
const SUM: Aggregator = 'sum';

/** What one metric of prom-client is made of. */
export interface PulledMetric<Read> {
  readonly name: string;
  readonly metric: Metric;
  readonly registry: Registry;
  readonly read: () => readonly Read[];
}

/** A value as prom-client writes it; `metricName` where it is not the name of the metric. */
interface Value {
  readonly labels: Labels;
  readonly value: number;
  readonly metricName?: string;
}

/** A counter that is read when it is asked for, so that nothing is counted twice. */
export class PulledCounter extends Counter {
  readonly #read: () => readonly Sample[];

  constructor(pulled: PulledMetric<Sample>) {
    super(configOf(pulled));
    this.#read = pulled.read;
  }

  override async get() {
    return { ...(await super.get()), values: this.#read().map(plain) };
  }
}

/** A gauge that is read when it is asked for. */
export class PulledGauge extends Gauge {
  readonly #read: () => readonly Sample[];

  constructor(pulled: PulledMetric<Sample>) {
    super(configOf(pulled));
    this.#read = pulled.read;
  }

  override async get() {
    return { ...(await super.get()), values: this.#read().map(plain) };
  }
}

/** A histogram that is read when it is asked for. */
export class PulledHistogram extends Histogram {
  readonly #name: string;
  readonly #help: string;
  readonly #read: () => readonly TimesSample[];

  constructor(pulled: PulledMetric<TimesSample>) {
    super({ ...configOf(pulled), buckets: [...TIME_BUCKETS_SECONDS] });
    this.#name = pulled.name;
    this.#help = pulled.metric.help;
    this.#read = pulled.read;
  }

  override get() {
    const values = this.#read().flatMap((sample) => bucketsOf(this.#name, sample));
    const type = 'histogram' as unknown as MetricType;
    const described = { name: this.#name, help: this.#help, type, aggregator: SUM };
    return Promise.resolve({ ...described, collect: () => undefined, values });
  }

  /** What prom-client asks in place of `get` when it writes text. */
  getForPromString() {
    return this.get();
  }
}

function configOf({ name, metric, registry }: PulledMetric<unknown>) {
  const { help, labels } = metric;
  return { name, help, labelNames: labels.map(labelName), registers: [registry] };
}

function plain({ labels, value }: Sample): Value {
  return { labels: renamed(labels), value };
}

function bucketsOf(name: string, { labels, times }: TimesSample) {
  const own = renamed(labels);
  const value = (suffix: string, amount: number, le?: string) => ({
    metricName: `${name}_${suffix}`,
    labels: le === undefined ? own : { ...own, le },
    value: amount,
  });
  return [
    ...times.buckets.map((count, i) => value('bucket', count, String(TIME_BUCKETS_SECONDS[i]))),
    value('bucket', times.count, '+Inf'),
    value('sum', times.sumMs / 1_000),
    value('count', times.count),
  ];
}

function renamed(labels: Labels): Labels {
  return Object.fromEntries(
    Object.entries(labels).map(([name, value]) => [labelName(name), value]),
  );
}

/** `error.type` is `error_type`. */
function labelName(name: string): string {
  return name.replaceAll('.', '_');
}
