import type { Limit } from '../core/limit-store.js';
import type { LeaseMessage } from './channels.js';
import { ConfigTally } from './config-tally.js';
import { OTHER_POLICY } from './counters-by-name.js';
import type { RuleCounters } from './outbound-tally.js';
import { OutboundTally } from './outbound-tally.js';
import type { PolicyCounters } from './policy-counters.js';
import { RateLimitEvents } from './rate-limit-events.js';
import { StoreHealth } from './store-health.js';
import { StoreOperations } from './store-operations.js';
import type { TallyTies } from './tally.js';
import { newTopics } from './topics.js';
import { Tally } from './tally.js';

/** All that is written down about one application while it runs. */
export class Observation {
  readonly topics = newTopics();
  readonly events = new RateLimitEvents(this.topics);
  readonly tally: Tally;
  readonly outbound: OutboundTally;
  readonly config: ConfigTally;
  readonly health: StoreHealth;
  readonly operations: StoreOperations;
  /** Since when it is counted. */
  sinceAtMs: number;

  constructor(readonly ties: TallyTies) {
    const { topics } = this;
    this.tally = new Tally(topics.wait, ties);
    this.outbound = new OutboundTally(this.tally.others, topics.wait);
    this.config = new ConfigTally(topics.config, ties.timeMs);
    this.health = new StoreHealth(topics.store, ties.timeMs);
    this.operations = new StoreOperations(topics.store);
    this.sinceAtMs = ties.timeMs();
  }

  /** Slots were given back, or lost. */
  noteLease(limits: readonly Limit[], heldMs: number): void {
    const topic = this.topics.lease;
    for (const limit of limits) {
      this.countersOf(limit).leaseTimes.record(heldMs);
      if (topic.isHeard) topic.publish({ ...namesOf(limit), heldMs });
    }
  }

  /** A domain began to cool down, or recovered. */
  noteCooldown(policy: string, domain: string, cooldownMs: number): void {
    const counters = this.outbound.of(policy);
    if (cooldownMs > 0) counters.opened++;
    else counters.recovered++;
    const topic = this.topics.cooldown;
    if (!topic.isHeard) return;
    topic.publish({ policy, domain, to: cooldownMs > 0 ? 'cooling' : 'normal', cooldownMs });
  }

  /** What is counted under a limit. */
  countersOf(limit: Limit): PolicyCounters | RuleCounters {
    const { seenAs } = limit;
    return seenAs?.side === 'outbound'
      ? this.outbound.of(seenAs.name)
      : this.tally.policies.of(limit);
  }

  /** The name under which something is counted: its own, or `_other`. */
  countedAs(policy: string, direction: 'inbound' | 'outbound'): string {
    const names = direction === 'outbound' ? this.outbound : this.tally.policies;
    return names.has(policy) ? policy : OTHER_POLICY;
  }

  /** Counts from zero. What is going on, and how the store is, stays known. */
  reset(): void {
    this.tally.reset();
    this.outbound.reset();
    this.operations.reset();
    this.sinceAtMs = this.ties.timeMs();
  }
}

function namesOf({ plan, seenAs }: Limit): Pick<LeaseMessage, 'policy' | 'direction'> {
  const direction = seenAs?.side === 'outbound' ? 'outbound' : 'inbound';
  return { policy: seenAs?.name ?? plan.name, direction };
}
