import type { Decision, Limit } from '../core/limit-store.js';

/** What a decision lent: the caps under which it holds a slot. */
export function lentBy({ limits }: Decision): Limit[] {
  return limits
    .filter(({ admits, limit }) => admits && limit.plan.kind === 'concurrency')
    .map(({ limit }) => limit);
}

/** Whether it was for want of a slot that a decision is no. */
export function lacksSlot({ limits }: Decision): boolean {
  return limits.some(({ admits, limit }) => !admits && limit.plan.kind === 'concurrency');
}
