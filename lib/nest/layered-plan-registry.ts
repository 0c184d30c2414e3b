import type { Awaitable } from '../core/awaitable.js';
import type { InMemoryPlanRegistry } from '../core/in-memory-plan-registry.js';
import type { PlanDefinition } from '../core/plan.js';
import { PlanRegistry } from '../core/plan-registry.js';

/** Plans from the options first, and from the user's own registry what they do not name. */
export class LayeredPlanRegistry extends PlanRegistry {
  constructor(
    private readonly written: InMemoryPlanRegistry,
    private readonly own: PlanRegistry,
    /** The plan of a bare decorator when neither names one. */
    private readonly fallback?: PlanDefinition,
  ) {
    super();
  }

  /** Both only ever count up, so that their sum changes when either does. */
  override get version(): number | undefined {
    const { version } = this.own;
    return version === undefined ? undefined : version + this.written.version;
  }

  override find(name: string): Awaitable<PlanDefinition | undefined> {
    const written = this.written.find(name);
    if (written !== undefined) return written;
    return name === 'default' ? this.#findDefault() : this.own.find(name);
  }

  override async names(): Promise<readonly string[]> {
    const names = [...this.written.names(), ...(await this.own.names())];
    return [...new Set(this.fallback === undefined ? names : ['default', ...names])];
  }

  async #findDefault(): Promise<PlanDefinition | undefined> {
    return (await this.own.find('default')) ?? this.fallback;
  }
}
