import type { Awaitable } from '../../core/awaitable.js';
import type { PlanDefinition } from '../../core/plan.js';
import { PlanRegistry } from '../../core/plan-registry.js';
import type { SharedPlans } from './shared-plans.js';

/** The plans that were changed while running, then those of another registry. */
export class SharedPlanRegistry extends PlanRegistry {
  constructor(
    private readonly shared: SharedPlans,
    private readonly below: PlanRegistry,
  ) {
    super();
  }

  /** Both only ever grow, so their sum changes when either does. */
  override get version(): number | undefined {
    const { version } = this.below;
    return version === undefined ? undefined : version + this.shared.version;
  }

  override find(name: string): Awaitable<PlanDefinition | undefined> {
    const changed = this.shared.find(name);
    if (changed === null) return undefined;
    return changed ?? this.below.find(name);
  }

  override async names(): Promise<readonly string[]> {
    const names = new Set(await this.below.names());
    for (const [name, { value }] of this.shared.entries()) {
      if (value === null) names.delete(name);
      else names.add(name);
    }
    return [...names];
  }
}
