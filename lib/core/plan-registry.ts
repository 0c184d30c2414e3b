import type { Awaitable } from './awaitable.js';
import type { PlanDefinition } from './plan.js';

/**
 * Where plans come from. May answer asynchronously, so that plans can live in a database.
 */
export abstract class PlanRegistry {
  /**
   * A number that grows whenever a plan has changed. While it stays the same, plans that were found
   * before are not asked for again; a registry without one is asked on every decision.
   */
  get version(): number | undefined {
    return undefined;
  }

  /** The definition of a plan, or undefined when there is none of that name. */
  abstract find(name: string): Awaitable<PlanDefinition | undefined>;

  /** The names to list in an error message. */
  names(): Awaitable<readonly string[]> {
    return [];
  }
}
