import { definePlan } from '../core/define-plan.js';
import type { Limit, LimitLabel } from '../core/limit-store.js';
import type { FailurePolicy, Plan } from '../core/plan.js';
import { UNLIMITED } from '../core/plan.js';
import { AbortBoard } from './abort-board.js';
import { Domain } from './domain.js';
import { normalizeDomain } from './domain-name.js';
import type { LateGateWatch } from './late-gate-watch.js';
import type { DomainRule, FoundRule, OutboundRules } from './outbound-rules.js';
import type { DomainLimits, QueueTies } from './queue-ties.js';
import type { CompleteThrottleRule, ThrottleRule } from './throttle-rule.js';
import { completeThrottleRule } from './throttle-rule.js';

/** How many plans of rules are kept made; a rule is usually shared by many domains. */
const MAX_PLANS = 1_000;
/** How many of the longest unused domains are looked at when another one comes. */
const LOOKED_AT = 8;

/** What the book hangs on. */
export interface BookTies extends Omit<QueueTies, 'aborts'> {
  readonly watch: LateGateWatch;
}

/** How the book is kept. */
export interface DomainBookOptions {
  readonly throttle: ThrottleRule;
  readonly onStoreFailure: FailurePolicy;
  /** Domains that are known at once. */
  readonly maxDomains: number;
  /** Milliseconds after which a domain that nobody asked for is forgotten. */
  readonly idleMs: number;
  /** Milliseconds that a slot outlives a process that died. */
  readonly slotLeaseMs: number;
}

/** The domains that calls go to, by name. Bounded: those that were not used for longest go first. */
export class DomainBook {
  readonly #domains = new Map<string, Domain>();
  readonly #plans = new Map<string, readonly [bucket: Plan, slots: Plan | undefined]>();
  readonly #labels = new Map<string, LimitLabel>();
  readonly #throttles = new WeakMap<DomainRule, CompleteThrottleRule>();
  readonly #queueTies: QueueTies;
  #rules: OutboundRules;

  constructor(
    rules: OutboundRules,
    private readonly ties: BookTies,
    private readonly options: DomainBookOptions,
  ) {
    this.#rules = rules;
    this.#queueTies = { ...ties, aborts: new AbortBoard() };
  }

  get rules(): OutboundRules {
    return this.#rules;
  }

  nowMs(): number {
    return this.ties.ticker.nowMs();
  }

  /** A domain that calls go to, known from now on. */
  use(name: string): Domain {
    const nowMs = this.ties.ticker.nowMs();
    const known = this.#domains.get(name) ?? this.find(name);
    const domain = known ?? this.#open(normalizeDomain(name));
    domain.usedMs = nowMs;
    if (!known) {
      this.#domains.set(domain.name, domain);
      this.#makeRoom(nowMs);
    }
    return domain;
  }

  /** A domain that calls went to; undefined when none did, or it is forgotten. */
  find(name: string): Domain | undefined {
    return this.#domains.get(normalizeDomain(name));
  }

  all(): readonly Domain[] {
    return [...this.#domains.values()];
  }

  /** Other rules from now on, also for those who wait already. */
  async changeRules(rules: OutboundRules): Promise<void> {
    this.#rules = rules;
    await Promise.all(this.all().map((domain) => this.#applyRule(domain)));
  }

  async #applyRule(domain: Domain): Promise<void> {
    const found = this.#rules.ruleFor(domain.name);
    const limits = this.#limitsOf(domain.name, found);
    domain.found = found;
    domain.throttle = this.#throttleOf(found.rule);
    const before = domain.limits;
    domain.limits = limits;
    const isSame =
      before.bucket.plan === limits.bucket.plan && before.slots?.plan === limits.slots?.plan;
    if (!isSame) await domain.queue?.heedLimits();
  }

  #open(name: string): Domain {
    this.ties.watch.start();
    const found = this.#rules.ruleFor(name);
    const limits = this.#limitsOf(name, found);
    return new Domain(name, found, this.#throttleOf(found.rule), limits, this.#queueTies);
  }

  /** Made once for each rule. */
  #throttleOf(rule: DomainRule): CompleteThrottleRule {
    let throttle = this.#throttles.get(rule);
    if (!throttle) {
      throttle = completeThrottleRule(rule.throttle ?? {}, this.options.throttle);
      this.#throttles.set(rule, throttle);
    }
    return throttle;
  }

  #limitsOf(name: string, { rule, source }: FoundRule): DomainLimits {
    const [bucket, slots] = this.#plansOf(rule);
    const label = this.#labelOf(source);
    return {
      bucket: limit(bucket, name, label),
      slots: slots && limit(slots, name, label),
    };
  }

  /** One for all domains of a rule. */
  #labelOf(source: string): LimitLabel {
    let label = this.#labels.get(source);
    if (label) return label;
    label = { name: source, side: 'outbound', isOfCaller: false };
    if (this.#labels.size >= MAX_PLANS) this.#labels.clear();
    this.#labels.set(source, label);
    return label;
  }

  /** One pair for all domains of a rule: chains of equal plans travel together. */
  #plansOf(rule: DomainRule): readonly [bucket: Plan, slots: Plan | undefined] {
    const { requestsPerSecond, burstCapacity, maxConcurrent = UNLIMITED } = rule;
    const id = `${requestsPerSecond} ${burstCapacity} ${maxConcurrent}`;
    let plans = this.#plans.get(id);
    if (plans) return plans;
    const { onStoreFailure, slotLeaseMs: leaseMs } = this.options;
    const bucket = { capacity: burstCapacity, tokensPerSecond: requestsPerSecond, onStoreFailure };
    plans = [
      named('_outbound', definePlan('outbound', bucket)),
      maxConcurrent === UNLIMITED
        ? undefined
        : named(
            '_outbound_slots',
            definePlan('outbound', { maxConcurrent, leaseMs, onStoreFailure }),
          ),
    ];
    if (this.#plans.size >= MAX_PLANS) this.#plans.clear();
    this.#plans.set(id, plans);
    return plans;
  }

  /** Those that nobody has asked for in a while go; beyond the bound, whoever nobody waits for. */
  #makeRoom(nowMs: number): void {
    const { maxDomains, idleMs } = this.options;
    let lookedAt = 0;
    for (const domain of this.#domains.values()) {
      const tooMany = this.#domains.size > maxDomains;
      if (!tooMany && ++lookedAt > LOOKED_AT) return;
      const isOld = nowMs - domain.usedMs > idleMs;
      if (domain.isIdle && (tooMany || isOld)) this.#domains.delete(domain.name);
      else if (domain.usedMs === nowMs) return;
      else this.#moveBack(domain);
    }
  }

  /** Still in use: looked at again when all the others have been. */
  #moveBack(domain: Domain): void {
    this.#domains.delete(domain.name);
    this.#domains.set(domain.name, domain);
  }
}

function limit(plan: Plan, key: string, seenAs: LimitLabel): Limit {
  return { plan, key, cost: 1, seenAs };
}

/** A name that no plan of a user can have. */
function named(name: string, plan: Plan): Plan {
  return { ...plan, name };
}
