import type { Plan } from '../core/plan.js';

/** The two numbers that the scripts call `a` and `b`. */
export function rateOf(plan: Plan): [a: number, b: number] {
  switch (plan.kind) {
    case 'token-bucket':
      return [plan.refill, plan.periodUs];
    case 'sliding-window':
      return [plan.windowUs, 0];
    case 'concurrency':
      return [plan.leaseUs, 0];
    default:
      return plan;
  }
}
