import type { Limit } from '../core/limit-store.js';
import { ConfigTally } from './config-tally.js';
import { OutboundTally } from './outbound-tally.js';
import { RateLimitEvents } from './rate-limit-events.js';
import { StoreHealth } from './store-health.js';
import { StoreOperations } from './store-operations.js';
import type { TallyTies } from './tally.js';
import { Tally } from './tally.js';

/** All that is written down about one application while it runs. */
export class Observation {
  readonly events = new RateLimitEvents();
  readonly tally: Tally;
  readonly outbound: OutboundTally;
  readonly config: ConfigTally;
  readonly health: StoreHealth;
  readonly operations: StoreOperations;
  /** Since when it is counted. */
  sinceAtMs: number;

  constructor(readonly ties: TallyTies) {
    const { topics } = this.events;
    this.tally = new Tally(ties);
    this.outbound = new OutboundTally(this.tally.totals, topics.wait);
    this.config = new ConfigTally(topics.config, ties.timeMs);
    this.health = new StoreHealth(topics.store, ties.timeMs);
    this.operations = new StoreOperations(topics.store);
    this.sinceAtMs = ties.timeMs();
  }

  /** Slots were given back, or lost. */
  noteLease(limits: readonly Limit[], heldMs: number): void {
    const topic = this.events.topics.lease;
    limits.forEach((limit, place) => {
      this.countersOf(limit, place).leaseTimes.record(heldMs);
      if (topic.isHeard) topic.publish({ policy: limit.label?.name ?? limit.plan.name, heldMs });
    });
  }

  /** A domain began to cool down, or recovered. */
  noteCooldown(policy: string, domain: string, cooldownMs: number): void {
    const counters = this.outbound.of(policy);
    if (cooldownMs > 0) counters.opened++;
    else counters.recovered++;
    const topic = this.events.topics.cooldown;
    if (!topic.isHeard) return;
    topic.publish({ policy, domain, to: cooldownMs > 0 ? 'cooling' : 'normal', cooldownMs });
  }

  /** What is counted under a limit; `place` is where it stands in its chain. */
  countersOf(limit: Limit, place: number) {
    const { label } = limit;
    return label?.side === 'outbound'
      ? this.outbound.of(label.name)
      : this.tally.policies.find(limit, place);
  }

  /** Counts from zero. What is going on, and how the store is, stays known. */
  reset(): void {
    this.tally.reset();
    this.outbound.reset();
    this.operations.reset();
    this.sinceAtMs = this.ties.timeMs();
  }
}
