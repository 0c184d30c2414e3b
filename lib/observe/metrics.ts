import { isOther } from './counters-by-name.js';
import { requestSamples } from './request-samples.js';
import type { Labels, Sample, TimesSample } from './sample.js';
import type {
  OutboundStats,
  PolicyStats,
  RateLimitSnapshot,
  StoreStats,
  TimeStats,
} from './stats-snapshot.js';

interface MetricBase {
  /** After the prefix, as OpenTelemetry writes it. */
  readonly name: string;
  /** After the prefix, as Prometheus writes it. */
  readonly prometheus: string;
  readonly help: string;
  readonly unit: string;
  readonly labels: readonly string[];
}

/** A metric that is read when somebody asks for it. */
export type Metric =
  | (MetricBase & {
      readonly kind: 'counter' | 'up-down' | 'gauge';
      readonly read: (snapshot: RateLimitSnapshot) => readonly Sample[];
    })
  | (MetricBase & {
      readonly kind: 'histogram';
      readonly read: (snapshot: RateLimitSnapshot) => readonly TimesSample[];
    });

/** Stands before the name of every metric, unless something else is asked for. */
export const DEFAULT_PREFIX = 'ratelimit';

const IN = { direction: 'inbound' } as const;
const OUT = { direction: 'outbound' } as const;

/** What metrics there are. The adapters only differ in how they hand them over. */
export const METRICS: readonly Metric[] = [
  {
    ...{ name: 'requests', prometheus: 'requests_total', kind: 'counter', unit: '{request}' },
    help: 'Requests by the plan, level or rule that counted them, and what it said.',
    labels: ['policy', 'direction', 'result', 'reason', 'dry_run'],
    read: requestSamples,
  },
  {
    ...{ name: 'near_limit', prometheus: 'near_limit_total', kind: 'counter', unit: '{request}' },
    help: 'Requests that were allowed and left a fifth of the quota or less.',
    labels: ['policy', 'direction'],
    read: (stats) =>
      policiesOf(stats).map(({ policy, nearLimit }) => ({
        labels: { policy, ...IN },
        value: nearLimit,
      })),
  },
  {
    ...{ name: 'refunds', prometheus: 'refunds_total', kind: 'counter', unit: '{refund}' },
    help: 'How often tokens were given back.',
    labels: ['policy'],
    read: (stats) =>
      policiesOf(stats).map(({ policy, refunds }) => ({ labels: { policy }, value: refunds })),
  },
  {
    ...{ name: 'deny_cache.hits', prometheus: 'deny_cache_hits_total', kind: 'counter' },
    unit: '{request}',
    help: 'Requests that were denied without the store being asked again.',
    labels: ['policy'],
    read: (stats) =>
      policiesOf(stats).map(({ policy, fromDenyCache }) => ({
        labels: { policy },
        value: fromDenyCache,
      })),
  },
  {
    ...{ name: 'wait.duration', prometheus: 'wait_duration_seconds', kind: 'histogram', unit: 's' },
    help: 'How long permits were waited for, or until the wait was given up.',
    labels: ['policy', 'direction', 'result'],
    read: (stats) => [
      ...policiesOf(stats).flatMap(({ policy, waits }) =>
        recorded({ policy, ...IN, result: 'acquired' }, waits),
      ),
      ...stats.outbound.flatMap(waitsOf),
    ],
  },
  {
    ...{ name: 'queue.size', prometheus: 'queue_size', kind: 'up-down', unit: '{request}' },
    help: 'Calls that wait for a permit in this process.',
    labels: ['policy', 'direction'],
    read: ({ outbound }) =>
      outbound.map(({ policy, waiting }) => ({ labels: { policy, ...OUT }, value: waiting })),
  },
  {
    ...{ name: 'queue.oldest_age', prometheus: 'queue_oldest_age_seconds', kind: 'gauge' },
    unit: 's',
    help: 'How long the first of those has waited.',
    labels: ['policy'],
    read: ({ outbound }) =>
      outbound.map(({ policy, oldestWaitMs }) => ({
        labels: { policy },
        value: oldestWaitMs / 1_000,
      })),
  },
  {
    ...{ name: 'lease.active', prometheus: 'lease_active', kind: 'up-down', unit: '{lease}' },
    help: 'Slots that this process holds.',
    labels: ['policy', 'direction'],
    read: (stats) => [
      ...policiesOf(stats).filter(lends).map(slotsOf(IN)),
      ...stats.outbound.filter(isCapped).map(slotsOf(OUT)),
    ],
  },
  {
    ...{ name: 'lease.duration', prometheus: 'lease_duration_seconds', kind: 'histogram' },
    unit: 's',
    help: 'How long slots were held.',
    labels: ['policy', 'direction'],
    read: (stats) => [
      ...policiesOf(stats).flatMap(leaseTimesOf(IN)),
      ...stats.outbound.flatMap(leaseTimesOf(OUT)),
    ],
  },
  {
    ...{ name: 'limit', prometheus: 'limit', kind: 'gauge', unit: '1' },
    help: 'What is allowed: requests per second, at once after a pause, or under way.',
    labels: ['policy', 'direction', 'kind'],
    read: (stats) => [...policiesOf(stats).flatMap(limitsOf), ...stats.outbound.flatMap(rulesOf)],
  },
  {
    ...{ name: 'cooldown.state', prometheus: 'cooldown_state', kind: 'gauge', unit: '1' },
    help: 'Whether the domains of a rule are in that state: 1 for the one that they are in.',
    labels: ['policy', 'state'],
    read: ({ outbound }) =>
      outbound.flatMap(({ policy, cooldown }) =>
        (['normal', 'cooling', 'trying'] as const).map((state) => ({
          labels: { policy, state },
          value: Number(cooldown.state === state),
        })),
      ),
  },
  {
    ...{ name: 'cooldown.transitions', prometheus: 'cooldown_transitions_total' },
    ...{ kind: 'counter', unit: '{transition}' },
    help: 'How often a domain of the rule began to cool down, and how often one recovered.',
    labels: ['policy', 'to'],
    read: ({ outbound }) =>
      outbound.flatMap(({ policy, cooldown: { opened, recovered } }) => [
        { labels: { policy, to: 'cooling' }, value: opened },
        { labels: { policy, to: 'normal' }, value: recovered },
      ]),
  },
  {
    ...{ name: 'store.operation.duration', prometheus: 'store_operation_duration_seconds' },
    ...{ kind: 'histogram', unit: 's' },
    help: 'How long round trips to the store took; one may carry many decisions.',
    labels: ['store', 'operation', 'error.type'],
    read: ({ store: { kind, operations } }) =>
      operations.flatMap(({ operation, error, times }) =>
        recorded({ store: kind, operation, 'error.type': error }, times),
      ),
  },
  {
    ...{ name: 'store.available', prometheus: 'store_available', kind: 'gauge', unit: '1' },
    help: 'Whether limits are shared as they should be.',
    labels: ['store'],
    read: ({ store }) => [{ labels: nameOf(store), value: Number(store.status === 'up') }],
  },
  {
    ...{ name: 'config.reloads', prometheus: 'config_reloads_total', kind: 'counter' },
    unit: '{reload}',
    help: 'How often limits were changed while running, and how often that was refused.',
    labels: ['result'],
    read: ({ config: { reloads, failedReloads } }) => [
      { labels: { result: 'success' }, value: reloads },
      { labels: { result: 'error' }, value: failedReloads },
    ],
  },
  {
    ...{ name: 'config.last_success', prometheus: 'config_last_success_timestamp_seconds' },
    ...{ kind: 'gauge', unit: 's' },
    help: 'When limits were last taken over, in seconds since 1970.',
    labels: [],
    read: ({ config }) => [{ labels: {}, value: config.lastSuccessAtMs / 1_000 }],
  },
  {
    ...{ name: 'keys', prometheus: 'keys', kind: 'gauge', unit: '{key}' },
    help: 'Limits that the embedded store remembers.',
    labels: ['store'],
    read: ({ store }) => known(store, store.keys),
  },
  {
    ...{ name: 'evictions', prometheus: 'evictions_total', kind: 'counter', unit: '{key}' },
    help: 'Limits that the embedded store had to forget before their time.',
    labels: ['store'],
    read: ({ store }) => known(store, store.evictions),
  },
];

function policiesOf({ plans, gateway }: RateLimitSnapshot): PolicyStats[] {
  return [...plans, ...gateway];
}

function waitsOf({ policy, waits, timeouts, cancellations }: OutboundStats): TimesSample[] {
  return [
    ...recorded({ policy, ...OUT, result: 'acquired' }, waits),
    ...recorded({ policy, ...OUT, result: 'timeout' }, timeouts),
    ...recorded({ policy, ...OUT, result: 'canceled' }, cancellations),
  ];
}

function recorded(labels: Labels, times: TimeStats): TimesSample[] {
  return times.count === 0 ? [] : [{ labels, times }];
}

/** A plan and an outbound rule may be called the same: `default`. */
type Direction = typeof IN | typeof OUT;

function slotsOf(direction: Direction) {
  return ({ policy, leasesHeld }: PolicyStats | OutboundStats): Sample => ({
    labels: { policy, ...direction },
    value: leasesHeld,
  });
}

function leaseTimesOf(direction: Direction) {
  return ({ policy, leaseTimes }: PolicyStats | OutboundStats): TimesSample[] =>
    recorded({ policy, ...direction }, leaseTimes);
}

function limitsOf({ policy, kind, quota, windowMs }: PolicyStats): Sample[] {
  // No limit is not a number that could be compared.
  if (quota < 0) return [];
  if (kind === 'concurrency') return [{ labels: { policy, ...IN, kind }, value: quota }];
  const rate = windowMs > 0 ? (quota * 1_000) / windowMs : 0;
  const burst = { labels: { policy, ...IN, kind: 'burst' }, value: quota };
  return [{ labels: { policy, ...IN, kind: 'rate' }, value: rate }, burst];
}

function rulesOf(stats: OutboundStats): Sample[] {
  const { policy, requestsPerSecond, burstCapacity, maxConcurrent } = stats;
  // Many rules together, or one that is not there any more.
  if (requestsPerSecond === 0) return [];
  const samples = [
    { labels: { policy, ...OUT, kind: 'rate' }, value: requestsPerSecond },
    { labels: { policy, ...OUT, kind: 'burst' }, value: burstCapacity },
    { labels: { policy, ...OUT, kind: 'concurrency' }, value: maxConcurrent },
  ];
  return isCapped(stats) ? samples : samples.slice(0, 2);
}

function lends({ policy, kind }: PolicyStats): boolean {
  return kind === 'concurrency' || isOther(policy);
}

function isCapped({ policy, maxConcurrent }: OutboundStats): boolean {
  return maxConcurrent >= 0 || isOther(policy);
}

function nameOf({ kind }: StoreStats): Labels {
  return { store: kind };
}

function known(store: StoreStats, value: number | null): Sample[] {
  return value === null ? [] : [{ labels: nameOf(store), value }];
}
