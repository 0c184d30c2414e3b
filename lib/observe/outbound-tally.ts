import { UNLIMITED } from '../core/plan.js';
import { DELAYED_OVER_MS } from '../outbound/limit-stats.js';
import type { OutboundListener, OutboundRefusal } from '../outbound/outbound-listener.js';
import type { DomainRule } from '../outbound/outbound-rules.js';
import type { RuleView } from '../outbound/rule-view.js';
import { joinViews } from '../outbound/rule-view.js';
import { CountersByName, isOther } from './counters-by-name.js';
import type { Topic } from './topics.js';
import type { WaitMessage } from './channels.js';
import type { OutboundStats, Totals } from './stats-snapshot.js';
import { TimeRecord } from './time-stats.js';

const OUT = { direction: 'outbound' } as const;

/** The rule of that name as it counts now; undefined when there is none any more. */
type FindRule = (policy: string) => DomainRule | undefined;

/** What is counted under one rule. */
export class RuleCounters {
  allowed = 0;
  delayed = 0;
  opened = 0;
  recovered = 0;
  readonly denied: Record<OutboundRefusal, number> = {
    rate: 0,
    concurrency: 0,
    cooldown: 0,
    timeout: 0,
    canceled: 0,
    deny_list: 0,
    store_error: 0,
  };
  readonly waits = new TimeRecord();
  readonly timeouts = new TimeRecord();
  readonly cancellations = new TimeRecord();
  readonly leaseTimes = new TimeRecord();

  snapshot(
    policy: string,
    rule: DomainRule | undefined,
    view: Omit<RuleView, 'source' | 'rule'> | undefined,
    leasesHeld: number,
  ): OutboundStats {
    return {
      policy,
      requestsPerSecond: rule?.requestsPerSecond ?? 0,
      burstCapacity: rule?.burstCapacity ?? 0,
      maxConcurrent: rule?.maxConcurrent ?? UNLIMITED,
      allowed: this.allowed,
      delayed: this.delayed,
      denied: { ...this.denied },
      leasesHeld,
      leaseTimes: this.leaseTimes.snapshot(),
      waiting: view?.waiting ?? 0,
      oldestWaitMs: view?.oldestWaitMs ?? 0,
      waits: this.waits.snapshot(),
      timeouts: this.timeouts.snapshot(),
      cancellations: this.cancellations.snapshot(),
      cooldown: {
        state: view?.state ?? 'normal',
        remainingMs: view?.cooldownMs ?? 0,
        opened: this.opened,
        recovered: this.recovered,
      },
      domains: view?.domains ?? [],
    };
  }
}

/** Counts what becomes of outbound calls, rule by rule. */
export class OutboundTally implements OutboundListener {
  readonly #rules = new CountersByName<RuleCounters>();

  constructor(
    private readonly totals: { -readonly [Name in keyof Totals]: number },
    private readonly topic: Topic<WaitMessage>,
  ) {}

  onPermit(policy: string, waitedMs: number): void {
    const counters = this.of(policy);
    const isDelayed = waitedMs > DELAYED_OVER_MS;
    if (isDelayed) counters.delayed++;
    else counters.allowed++;
    if (isDelayed) this.totals.delayed++;
    else this.totals.allowed++;
    counters.waits.record(waitedMs);
    if (this.topic.isHeard) this.topic.publish({ policy, ...OUT, waitedMs, result: 'acquired' });
  }

  onRefusal(policy: string, reason: OutboundRefusal, waitedMs: number): void {
    const counters = this.of(policy);
    counters.denied[reason]++;
    this.totals.denied++;
    if (reason === 'timeout') counters.timeouts.record(waitedMs);
    if (reason === 'canceled') counters.cancellations.record(waitedMs);
    if (this.topic.isHeard) this.topic.publish({ policy, ...OUT, waitedMs, result: reason });
  }

  /** A rule that is known at start: it has counters of its own, always. */
  declare(policy: string): void {
    this.#rules.declare(policy, () => new RuleCounters());
  }

  /** Whether a rule has counters of its own. */
  has(policy: string): boolean {
    return this.#rules.get(policy) !== undefined;
  }

  /** The counters of a rule. */
  of(policy: string): RuleCounters {
    return this.#rules.get(policy) ?? this.#rules.open(policy, () => new RuleCounters());
  }

  /** What has happened, and what is going on now. */
  snapshot(
    views: readonly RuleView[],
    find: FindRule,
    heldBy: (counters: RuleCounters) => number,
  ): OutboundStats[] {
    const viewsOf = new Map<RuleCounters, RuleView[]>();
    for (const view of views) {
      const counters = this.of(view.source);
      viewsOf.set(counters, [...(viewsOf.get(counters) ?? []), view]);
    }
    return this.#rules.entries().map(([policy, counters]) => {
      const own = viewsOf.get(counters) ?? [];
      // What many rules have in common is no limit.
      const rule = isOther(policy) ? undefined : (own[0]?.rule ?? find(policy));
      return counters.snapshot(policy, rule, joinViews(own), heldBy(counters));
    });
  }

  reset(): void {
    this.#rules.clear(() => new RuleCounters());
  }
}
