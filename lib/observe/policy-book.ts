import type { Limit, LimitLabel } from '../core/limit-store.js';
import type { Plan } from '../core/plan.js';
import { UNLIMITED } from '../core/plan.js';
import { CountersByName, isOther, MAX_POLICIES, OTHER_LEVELS } from './counters-by-name.js';
import { KeyRoom } from './heavy-hitters.js';
import { PolicyCounters } from './policy-counters.js';

/**
 * Finds what is counted under a limit. Chains of one route name the same plans again and again, so
 * that the last ones are remembered by their place in the chain: finding them takes one comparison
 * instead of the hash of a name.
 */
export class PolicyBook {
  readonly #plans = new CountersByName<PolicyCounters>();
  /** Levels of a gateway, and rules of domains: a plan of a user may be called the same. */
  readonly #labels = new CountersByName<PolicyCounters>(OTHER_LEVELS);
  #room = new KeyRoom();
  /** The last ones, by their place in the chain. */
  readonly recent: (PolicyCounters | undefined)[] = [];

  /** A plan or a level that is known at start: it has counters of its own, always. */
  declare(plan: Plan, label?: LimitLabel): void {
    const name = label?.name ?? plan.name;
    this.#namesFor(label).declare(name, () => new PolicyCounters(name, plan, label, this.#room));
  }

  /** Another definition of a plan, which is shown from now on even if nobody uses it. */
  change(plan: Plan): void {
    this.#plans.get(plan.name)?.adopt(plan, undefined);
  }

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
    return this.#namesFor(label).get(label?.name ?? plan.name) ?? this.#open(limit);
  }

  /** Whether a plan or a level has counters of its own. */
  has(name: string): boolean {
    return this.#plans.get(name) !== undefined || this.#labels.get(name) !== undefined;
  }

  /** All of them, in order of appearance. */
  all(): PolicyCounters[] {
    const entries = [...this.#plans.entries(), ...this.#labels.entries()];
    return entries.map(([, counters]) => counters);
  }

  clear(): void {
    this.#room = new KeyRoom();
    const again = ({ policy, plan, label }: PolicyCounters) =>
      new PolicyCounters(policy, plan, label, this.#room);
    this.#plans.clear(again);
    this.#labels.clear(again);
    this.recent.length = 0;
  }

  #namesFor(label: LimitLabel | undefined): CountersByName<PolicyCounters> {
    return label === undefined ? this.#plans : this.#labels;
  }

  #findByName(limit: Limit, place: number): PolicyCounters {
    const { plan, seenAs: label } = limit;
    const counters = this.of(limit);
    if (counters.isOther) return counters;
    if (counters.plan !== plan || counters.label !== label) counters.adopt(plan, label);
    // Chains are short; a long one must not fill the memory.
    if (place < MAX_POLICIES) this.recent[place] = counters;
    return counters;
  }

  #open({ plan, seenAs: label }: Limit): PolicyCounters {
    return this.#namesFor(label).open(label?.name ?? plan.name, (policy) => {
      const shown = isOther(policy) ? ofMany(plan) : plan;
      return new PolicyCounters(policy, shown, label, this.#room);
    });
  }
}

/** What many plans have in common is no limit. */
function ofMany(plan: Plan): Plan {
  return { ...plan, quota: UNLIMITED, windowMs: 0, shadow: false };
}
