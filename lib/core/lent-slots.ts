import type { Decision, HeldLease, Limit } from './limit-store.js';

/** In place of a lease id where nothing is lent. */
export const NO_LEASE = '';

/** The limits under which a decision lent a slot; a shadow plan that said no lent none. */
export function lentBy({ limits }: Decision): Limit[] {
  return limits
    .filter(({ admits, limit }) => admits && limit.plan.kind === 'concurrency')
    .map(({ limit }) => limit);
}

/** The slots that a decision lent under an id; undefined when it lent none. */
export function heldBy(decision: Decision, leaseId: string): HeldLease | undefined {
  if (leaseId === NO_LEASE || !decision.allowed) return undefined;
  const limits = lentBy(decision);
  return limits.length > 0 ? { leaseId, limits } : undefined;
}

/** Whether it was for want of a slot that a decision is no. */
export function lacksSlot({ limits }: Decision): boolean {
  return limits.some(({ admits, limit }) => !admits && limit.plan.kind === 'concurrency');
}
