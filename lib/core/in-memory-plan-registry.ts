import { definePlan } from './define-plan.js';
import type { PlanDefinition } from './plan.js';
import { PlanRegistry } from './plan-registry.js';

/** Called with the names of the plans that changed. */
export type PlanChangeListener = (names: readonly string[]) => void;

/**
 * Plans held in the process, replaceable while it runs. A live bucket keeps its tokens, clamped to
 * the new capacity. A bad definition is refused and the old one stays.
 */
export class InMemoryPlanRegistry extends PlanRegistry {
  #definitions: Map<string, PlanDefinition>;
  #version = 0;
  readonly #listeners = new Set<PlanChangeListener>();

  constructor(plans: Readonly<Record<string, PlanDefinition>> = {}) {
    super();
    this.#definitions = checked(plans);
  }

  override get version(): number {
    return this.#version;
  }

  override find(name: string): PlanDefinition | undefined {
    return this.#definitions.get(name);
  }

  override names(): readonly string[] {
    return [...this.#definitions.keys()];
  }

  /** Adds a plan or replaces it. */
  set(name: string, definition: PlanDefinition): void {
    definePlan(name, definition);
    this.#definitions.set(name, snapshot(definition));
    this.#notify([name]);
  }

  /** Forgets a plan. Returns whether there was one. */
  delete(name: string): boolean {
    const existed = this.#definitions.delete(name);
    if (existed) this.#notify([name]);
    return existed;
  }

  /**
   * Replaces all plans at once, or none when one of them is invalid. A plan called `default` stays
   * unless it is among them: bare decorators rely on it.
   */
  replaceAll(plans: Readonly<Record<string, PlanDefinition>>): void {
    const next = checked(plans);
    const fallback = this.#definitions.get('default');
    if (fallback !== undefined && !next.has('default')) next.set('default', fallback);
    const names = new Set([...this.#definitions.keys(), ...next.keys()]);
    this.#definitions = next;
    this.#notify([...names]);
  }

  /** Tells the listener about every later change. Returns the function that stops it. */
  onChange(listener: PlanChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #notify(names: readonly string[]): void {
    this.#version++;
    for (const listener of this.#listeners) listener(names);
  }
}

function checked(plans: Readonly<Record<string, PlanDefinition>>): Map<string, PlanDefinition> {
  const definitions = new Map<string, PlanDefinition>();
  for (const [name, definition] of Object.entries(plans)) {
    definePlan(name, definition);
    definitions.set(name, snapshot(definition));
  }
  return definitions;
}

/** A copy that the caller can no longer change behind our back. */
function snapshot(definition: PlanDefinition): PlanDefinition {
  return typeof definition === 'string' ? definition : Object.freeze({ ...definition });
}
