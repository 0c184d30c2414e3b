import { definePlan } from './define-plan.js';
import type { PlanDefinition } from './plan.js';

/**
 * Checks plans and returns them with their names known to the compiler, to be passed as `plans` and
 * declared in `Register`.
 */
export function definePlans<const Plans extends Readonly<Record<string, PlanDefinition>>>(
  plans: Plans,
): Plans {
  for (const [name, definition] of Object.entries(plans)) definePlan(name, definition);
  return plans;
}
