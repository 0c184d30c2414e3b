import type { Limit } from '../core/limit-store.js';
import type { FailurePolicy } from '../core/plan.js';
import type { DomainRule } from '../outbound/outbound-rules.js';
import type { RuleView } from '../outbound/rule-view.js';
import { KeyRanking } from './key-ranking.js';
import type { Observation } from './observation.js';
import type { RuleCounters } from './outbound-tally.js';
import type { PolicyCounters } from './policy-counters.js';
import { SecondSeries } from './second-series.js';
import type { PolicyStats, RateLimitSnapshot, SeriesPoint, StoreStats } from './stats-snapshot.js';

/** Where the stats are read from. */
export interface StatsSources {
  readonly observation: Observation;
  readonly store: {
    readonly kind: StoreStats['kind'];
    readonly onStoreFailure: FailurePolicy;
    /** Limits that the embedded store remembers; null elsewhere. */
    keys(): number | null;
    evictions(): number | null;
  };
  /** Limits of which a slot is held, once for each slot. */
  held(): Iterable<Limit>;
  /** What is going on at the outbound side. */
  rules(): readonly RuleView[];
  /** The outbound rule of that name, used or not. */
  ruleOf(source: string): DomainRule | undefined;
}

type HeldCounts = Map<PolicyCounters | RuleCounters, number>;

/**
 * Tells what has happened in this process: how many requests each plan allowed and denied, how long
 * calls waited, who asks most, how the store is. All of it is bounded and none of it names a key.
 *
 * ```ts
 * const { totals, plans } = stats.snapshot();
 * ```
 */
export class RateLimitStats {
  readonly #series: SecondSeries;
  readonly #ranking = new KeyRanking();

  /** @internal Made by the module. */
  constructor(private readonly sources: StatsSources) {
    const { tally, ties } = sources.observation;
    this.#series = new SecondSeries({ read: () => tally.totals, ...ties });
  }

  /** What remembers the limits. */
  get storeKind(): StoreStats['kind'] {
    return this.sources.store.kind;
  }

  /** The counts of this moment, all of the same one. */
  snapshot(): RateLimitSnapshot {
    const { observation } = this.sources;
    const { tally, outbound, config, ties, sinceAtMs } = observation;
    const held = this.#countHeld();
    this.#ranking.begin();
    const policies = this.#policies(held);
    return {
      takenAtMs: ties.timeMs(),
      sinceAtMs,
      totals: tally.totals,
      plans: policies.filter(({ label }) => label === undefined).map(({ stats }) => stats),
      gateway: policies.filter(({ label }) => label !== undefined).map(({ stats }) => stats),
      outbound: outbound.snapshot(
        this.sources.rules(),
        (policy) => this.sources.ruleOf(policy),
        (rule) => held.get(rule) ?? 0,
      ),
      topKeys: this.#ranking.ofAll(tally.policies.all(), tally.isComplete),
      lastDenials: tally.lastDenials.latest(),
      store: this.#store(),
      config: config.snapshot(),
    };
  }

  /**
   * Requests per second of the last two minutes, the oldest first. Written down while somebody looks:
   * the first call begins, and it ends when nobody has called for some minutes.
   */
  series(): readonly SeriesPoint[] {
    return this.#series.read();
  }

  /** Counts from zero. Leases that are held, calls that wait and the state of the store stay known. */
  reset(): void {
    this.sources.observation.reset();
    this.#series.reset();
  }

  /** The same as `snapshot()`, for whoever writes it as JSON. */
  toJSON(): RateLimitSnapshot {
    return this.snapshot();
  }

  /**
   * The name under which a plan, a level or a rule is counted: its own, or `_other`.
   * @internal
   */
  countedAs(policy: string, direction: 'inbound' | 'outbound'): string {
    return this.sources.observation.countedAs(policy, direction);
  }

  /** Stops writing down seconds. */
  close(): void {
    this.#series.stop();
  }

  #policies(held: HeldCounts) {
    const { tally, ties } = this.sources.observation;
    const nowMs = ties.nowMs();
    return tally.policies.all().map((counters): { label: unknown; stats: PolicyStats } => ({
      label: counters.label,
      stats: counters.snapshot(
        nowMs,
        held.get(counters) ?? 0,
        this.#ranking.ofEach(counters, tally.isComplete),
      ),
    }));
  }

  #countHeld(): HeldCounts {
    const held: HeldCounts = new Map();
    for (const limit of this.sources.held()) {
      const counters = this.sources.observation.countersOf(limit);
      held.set(counters, (held.get(counters) ?? 0) + 1);
    }
    return held;
  }

  #store(): StoreStats {
    const { health, operations } = this.sources.observation;
    const { kind, onStoreFailure } = this.sources.store;
    const { failingSinceAtMs } = health;
    return {
      kind,
      status: failingSinceAtMs === null ? 'up' : 'failing',
      onStoreFailure,
      failingSinceAtMs,
      servers: health.servers(),
      unreadable: health.unreadable,
      keys: this.sources.store.keys(),
      evictions: this.sources.store.evictions(),
      operations: operations.snapshot(),
    };
  }
}
