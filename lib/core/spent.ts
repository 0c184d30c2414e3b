import type { Decision, Limit } from './limit-store.js';

/** Tokens that come back, and what is known about when they were spent. */
export interface Spent {
  readonly tokens: number;
  /** When they were spent; undefined when that is not known, as for a credit by hand. */
  readonly atUs: number | undefined;
  /** When the limit would have been whole again, as things were right after they were spent. */
  readonly wholeUs: number;
}

/** What a limit gets back, by the decision that charged it where there was one. */
export function spentOn({ plan, key, cost }: Limit, decision: Decision | undefined): Spent {
  if (!decision) return { tokens: cost, atUs: undefined, wholeUs: 0 };
  const charged = decision.limits.find(
    ({ limit }) => limit.plan.name === plan.name && limit.key === key,
  );
  const { atUs } = decision;
  return { tokens: charged ? cost : 0, atUs, wholeUs: atUs + (charged?.resetUs ?? 0) };
}
