import type { Rate } from './rate.js';

/**
 * What an application tells the compiler about itself. Declare its plans here, and a plan name that
 * does not exist no longer compiles:
 *
 * ```ts
 * declare module 'nestjs-floodgate' {
 *   interface Register {
 *     plans: typeof plans;
 *   }
 * }
 * ```
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type -- applications fill it in
export interface Register {}

/** The name of a plan: one of those that were registered, or any string when none were. */
export type PlanName = Register extends { plans: infer Plans }
  ? 'default' | Extract<keyof Plans, string>
  : string;

/** A plan by its name, or by a rate such as `'100/minute'`. */
// eslint-disable-next-line @typescript-eslint/no-redundant-type-constituents -- not once registered
export type PlanOrRate = PlanName | Rate;
