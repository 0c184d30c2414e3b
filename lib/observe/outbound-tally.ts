import { UNLIMITED } from '../core/plan.js';
import { DELAYED_OVER_MS } from '../outbound/limit-stats.js';
import type { OutboundListener, OutboundRefusal } from '../outbound/outbound-listener.js';
import type { RuleView } from '../outbound/rule-view.js';
import { MAX_POLICIES, OTHER_POLICY } from './policy-book.js';
import type { Topic } from './topics.js';
import type { WaitMessage } from './channels.js';
import type { OutboundStats, Totals } from './stats-snapshot.js';
import { TimeRecord } from './time-stats.js';

const OUT = { direction: 'outbound' } as const;

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

  snapshot(policy: string, view: RuleView | undefined, leasesHeld: number): OutboundStats {
    return {
      policy,
      requestsPerSecond: view?.rule.requestsPerSecond ?? 0,
      burstCapacity: view?.rule.burstCapacity ?? 0,
      maxConcurrent: view?.rule.maxConcurrent ?? UNLIMITED,
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
  readonly #rules = new Map<string, RuleCounters>();

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

  /** The counters of a rule. */
  of(policy: string): RuleCounters {
    return this.#rules.get(policy) ?? this.#open(policy);
  }

  /** What has happened, and what is going on now. */
  snapshot(
    views: readonly RuleView[],
    heldBy: (counters: RuleCounters) => number,
  ): OutboundStats[] {
    for (const { source } of views) this.of(source);
    const bySource = new Map(views.map((view) => [view.source, view]));
    return [...this.#rules].map(([policy, counters]) =>
      counters.snapshot(policy, bySource.get(policy), heldBy(counters)),
    );
  }

  reset(): void {
    this.#rules.clear();
  }

  #open(policy: string): RuleCounters {
    const name = this.#rules.size < MAX_POLICIES ? policy : OTHER_POLICY;
    const known = this.#rules.get(name);
    if (known) return known;
    const counters = new RuleCounters();
    this.#rules.set(name, counters);
    return counters;
  }
}
