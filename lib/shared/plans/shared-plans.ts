import { definePlan } from '../../core/define-plan.js';
import type { DocumentStore } from '../../core/document-store.js';
import type { PlanChangeListener } from '../../core/in-memory-plan-registry.js';
import type { PlanDefinition } from '../../core/plan.js';
import type { ChangeNote, SharedEntry } from '../entries-document.js';
import { SharedEntries } from '../shared-entries.js';

/**
 * Plans that are changed while running, in all processes that share the store. They count before the
 * plans of the code and those of a registry, and stay over restarts until they are reverted. A live
 * bucket keeps its tokens, clamped to the new capacity; denials by the plan before are forgotten.
 */
export class SharedPlans {
  readonly #entries: SharedEntries<PlanDefinition>;
  readonly #listeners = new Set<PlanChangeListener>();
  #version = 0;

  /** @internal Made by the module. */
  constructor(store: DocumentStore, onProblem: (message: string) => void) {
    this.#entries = new SharedEntries<PlanDefinition>(store, {
      name: 'plans',
      what: 'plans',
      check: checkedDefinition,
      onChange: (names) => this.#notify(names),
      onProblem,
    });
  }

  /** Grows whenever one of the plans changes. */
  get version(): number {
    return this.#version;
  }

  /**
   * Reads the plans and follows their changes from now on.
   * @internal
   */
  start(): Promise<void> {
    return this.#entries.start();
  }

  /**
   * Stops following changes.
   * @internal
   */
  stop(): void {
    this.#entries.stop();
  }

  /**
   * The definition of a plan; null if the plan was removed, undefined if it was not changed.
   * @internal
   */
  find(name: string): PlanDefinition | null | undefined {
    return this.#entries.find(name);
  }

  /** What was changed, by the name of the plan; the value of a plan that was removed is null. */
  entries(): ReadonlyMap<string, SharedEntry<PlanDefinition>> {
    return this.#entries.entries();
  }

  /** Adds a plan or replaces it, in all processes. Returns false if nothing changes. */
  set(name: string, definition: PlanDefinition, note?: ChangeNote): Promise<boolean> {
    return this.#entries.set(name, definition, note);
  }

  /**
   * Removes a plan, in all processes, also one of the code: requests that name it fail with
   * `UNKNOWN_PLAN`. Returns false if nothing changes.
   */
  remove(name: string, note?: ChangeNote): Promise<boolean> {
    return this.#entries.set(name, null, note);
  }

  /** Goes back to the plan of the code, in all processes. Returns false if nothing was changed. */
  revert(name: string): Promise<boolean> {
    return this.#entries.delete(name);
  }

  /** Calls the listener after every change, in any process. Returns the function that stops it. */
  onChange(listener: PlanChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #notify(names: readonly string[]): void {
    this.#version++;
    for (const listener of this.#listeners) listener(names);
  }
}

function checkedDefinition(name: string, value: unknown): PlanDefinition {
  const definition = value as PlanDefinition;
  definePlan(name, definition);
  return typeof definition === 'string' ? definition : Object.freeze({ ...definition });
}
