import type { Awaitable } from './awaitable.js';
import { definePlan, planFromRate } from './define-plan.js';
import { UnknownPlanError } from './errors.js';
import type { Plan, PlanDefinition } from './plan.js';
import type { PlanRegistry } from './plan-registry.js';

/** Checked plans that are remembered. A registry may know more, for instance one plan per customer. */
const MAX_REMEMBERED = 1_000;

/** Plans have names that start with a letter, rates start with a number. */
const NAME_START = /^[A-Za-z]/;

interface Remembered {
  readonly definition: PlanDefinition | undefined;
  readonly plan: Plan;
  readonly version: number | undefined;
}

/** Looks plans up in the registry and checks each definition once, not on every decision. */
export class PlanBook {
  readonly #remembered = new Map<string, Remembered>();

  constructor(private readonly registry: PlanRegistry) {}

  /** The plan of that name, or the one that a rate such as `'100/minute'` stands for. */
  find(name: string): Awaitable<Plan> {
    const { version } = this.registry;
    const remembered = this.#remembered.get(name);
    if (remembered && version !== undefined && remembered.version === version) {
      return remembered.plan;
    }
    if (!NAME_START.test(name)) return this.#rate(name);
    const definition = this.registry.find(name);
    return isDefinition(definition)
      ? this.#check(name, definition, version)
      : Promise.resolve(definition).then((found) => this.#check(name, found, version));
  }

  /** No plan is called like a rate, so that no registry has to be asked for one. */
  #rate(name: string): Awaitable<Plan> {
    const remembered = this.#remembered.get(name)?.plan;
    if (remembered) return remembered;
    const plan = planFromRate(name);
    if (!plan) return this.#unknown(name);
    this.#remember(name, { definition: undefined, plan, version: this.registry.version });
    return plan;
  }

  #check(
    name: string,
    definition: PlanDefinition | undefined,
    version: number | undefined,
  ): Awaitable<Plan> {
    const remembered = this.#remembered.get(name);
    if (remembered && remembered.definition === definition && remembered.version === version) {
      return remembered.plan;
    }
    if (definition === undefined) return this.#unknown(name);
    const plan = definePlan(name, definition);
    this.#remember(name, { definition, plan, version });
    return plan;
  }

  #remember(name: string, entry: Remembered): void {
    this.#remembered.delete(name);
    this.#remembered.set(name, entry);
    if (this.#remembered.size <= MAX_REMEMBERED) return;
    const [oldest] = this.#remembered.keys();
    this.#remembered.delete(oldest!);
  }

  async #unknown(name: string): Promise<never> {
    throw new UnknownPlanError(name, await this.registry.names());
  }
}

/** Told by what it is not, since a registry of the user's may answer with any kind of promise. */
function isDefinition(
  found: Awaitable<PlanDefinition | undefined>,
): found is PlanDefinition | undefined {
  return typeof (found as PromiseLike<unknown> | undefined)?.then !== 'function';
}
