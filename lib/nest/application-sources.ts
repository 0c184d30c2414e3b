import { Inject, Injectable } from '@nestjs/common';
import { definePlan } from '../core/define-plan.js';
import { InMemoryPlanRegistry } from '../core/in-memory-plan-registry.js';
import type { Limit } from '../core/limit-store.js';
import { LimitStore } from '../core/limit-store.js';
import type { Plan } from '../core/plan.js';
import { MemoryStore } from '../memory/memory-store.js';
import type { Observation } from '../observe/observation.js';
import type { StatsSources } from '../observe/rate-limit-stats.js';
import type { DomainRule } from '../outbound/outbound-rules.js';
import type { RuleView } from '../outbound/rule-view.js';
import { SharedPlans } from '../shared/plans/shared-plans.js';
import { Observed } from './observed.js';
import { Outbound } from './outbound.js';
import type { CheckedOptions } from './rate-limit-options.js';
import { CHECKED_OPTIONS } from './rate-limit.module-definition.js';

/** Where the stats of an application are read from. */
@Injectable()
export class ApplicationSources implements StatsSources {
  readonly observation: Observation;
  readonly store: StatsSources['store'];

  constructor(
    @Inject(CHECKED_OPTIONS) { store, redis, onStoreFailure }: CheckedOptions,
    limits: LimitStore,
    private readonly registry: InMemoryPlanRegistry,
    private readonly shared: SharedPlans,
    private readonly observed: Observed,
    private readonly outbound: Outbound,
  ) {
    this.observation = observed.observation;
    const memory = limits instanceof MemoryStore ? limits : undefined;
    this.store = {
      kind: store ? 'custom' : redis === undefined ? 'memory' : 'redis',
      onStoreFailure,
      keys: () => memory?.size ?? null,
      evictions: () => memory?.evictions ?? null,
    };
    const { policies } = this.observation.tally;
    for (const plan of this.#plansOf(registry.names())) policies.declare(plan);
    const change = (names: readonly string[]) => {
      for (const plan of this.#plansOf(names)) policies.change(plan);
      this.observation.config.changed('plans', names.join(', '));
    };
    registry.onChange(change);
    shared.onChange(change);
  }

  held(): Iterable<Limit> {
    return this.observed.keeper.limits();
  }

  rules(): readonly RuleView[] {
    return this.outbound.view();
  }

  ruleOf(source: string): DomainRule | undefined {
    return this.outbound.ruleOf(source);
  }

  /** Those that are still there. */
  #plansOf(names: readonly string[]): Plan[] {
    return names.flatMap((name) => {
      const definition = this.shared.find(name) ?? this.registry.find(name);
      return definition === undefined ? [] : [definePlan(name, definition)];
    });
  }
}
