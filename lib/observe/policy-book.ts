import type { Limit } from '../core/limit-store.js';
import { UNLIMITED } from '../core/plan.js';
import { PolicyCounters } from './policy-counters.js';

/** Names that are told apart. Plans may come from a database, one for every customer. */
export const MAX_POLICIES = 200;

/** Stands for all names beyond. */
export const OTHER_POLICY = '_other';

/**
 * Finds what is counted under a limit. Chains of one route name the same plans again and again, so
 * that the last ones are remembered by their place in the chain: finding them takes one comparison
 * instead of the hash of a name.
 */
export class PolicyBook {
  readonly #plans = new Map<string, PolicyCounters>();
  /** Levels of a gateway, and rules of domains: a plan of a user may be called the same. */
  readonly #labels = new Map<string, PolicyCounters>();
  /** The last ones, by their place in the chain. */
  readonly recent: (PolicyCounters | undefined)[] = [];

  /** The counters of a limit; `place` is where it stands in its chain. */
  find(limit: Limit, place: number): PolicyCounters {
    const recent = this.recent[place];
    if (recent !== undefined && recent.plan === limit.plan && recent.label === limit.seenAs) {
      return recent;
    }
    return this.#findByName(limit, place);
  }

  /** The same for those who only look: the plan need not be the one that is in force. */
  of(limit: Limit): PolicyCounters {
    const { plan, seenAs: label } = limit;
    const names = label === undefined ? this.#plans : this.#labels;
    return names.get(label?.name ?? plan.name) ?? this.#open(limit, names);
  }

  /** All of them, in order of appearance. */
  all(): PolicyCounters[] {
    return [...this.#plans.values(), ...this.#labels.values()];
  }

  clear(): void {
    this.#plans.clear();
    this.#labels.clear();
    this.recent.length = 0;
  }

  #findByName(limit: Limit, place: number): PolicyCounters {
    const { plan, seenAs: label } = limit;
    const names = label === undefined ? this.#plans : this.#labels;
    const counters = names.get(label === undefined ? plan.name : label.name);
    if (counters === undefined) return this.#open(limit, names);
    if (counters.plan !== plan || counters.label !== label) counters.adopt(plan, label);
    // Chains are short; a long one must not fill the memory.
    if (place < MAX_POLICIES) this.recent[place] = counters;
    return counters;
  }

  #open({ plan, seenAs: label }: Limit, names: Map<string, PolicyCounters>): PolicyCounters {
    if (names.size < MAX_POLICIES) {
      const counters = new PolicyCounters(label?.name ?? plan.name, plan, label);
      names.set(counters.policy, counters);
      return counters;
    }
    let other = names.get(OTHER_POLICY);
    // What many have in common is no limit.
    const nobody = { ...plan, name: OTHER_POLICY, quota: UNLIMITED, windowMs: 0, shadow: false };
    if (!other) names.set(OTHER_POLICY, (other = new PolicyCounters(OTHER_POLICY, nobody, label)));
    return other;
  }
}
