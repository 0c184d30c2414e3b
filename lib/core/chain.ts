import { checkTokens } from './check/tokens.js';
import { NO_LEASE } from './lent-slots.js';
import { limitKey } from './limit-key.js';
import type { Inquiry, Limit } from './limit-store.js';
import type { Plan } from './plan.js';
import { DENY_ALL, UNLIMITED } from './plan.js';

/** A chain as the store will see it, and what is known without asking the store. */
export interface Chain extends Inquiry {
  readonly limits: Limit[];
  /** Limits of 0, which say no to everybody; undefined when there are none, as usual. */
  closed: Limit[] | undefined;
  lends: boolean;
  mode: Inquiry['mode'];
  maxWaitUs: number;
  leaseId: string;
}

/** A chain without limits, to be taken from. */
export function emptyChain(): Chain {
  return {
    limits: [],
    closed: undefined,
    lends: false,
    mode: 'take',
    maxWaitUs: 0,
    leaseId: NO_LEASE,
  };
}

/** Adds the limit of one plan and key to a chain, which it returns. */
export function addLimit(chain: Chain, plan: Plan, key: string, tokens: number): Chain {
  checkTokens(tokens);
  const checkedKey = limitKey(key);
  if (plan.quota === UNLIMITED) return chain;
  const limit: Limit = { plan, key: checkedKey, cost: tokens };
  if (plan.quota === DENY_ALL) {
    (chain.closed ??= []).push(limit);
    return chain;
  }
  if (plan.kind === 'concurrency') chain.lends = true;
  mergeLimit(chain.limits, limit);
  return chain;
}

/** A counter that is named twice is asked once, for the sum: reading it twice would admit twice. */
function mergeLimit(limits: Limit[], limit: Limit): void {
  for (let i = 0; i < limits.length; i++) {
    const other = limits[i]!;
    if (other.plan.name !== limit.plan.name || other.key !== limit.key) continue;
    limits[i] = { ...other, cost: other.cost + limit.cost };
    return;
  }
  limits.push(limit);
}

/** The name of the plan because of which a chain lends slots. */
export function lendingPlan(chain: Chain): string {
  return chain.limits.find(({ plan }) => plan.kind === 'concurrency')!.plan.name;
}
