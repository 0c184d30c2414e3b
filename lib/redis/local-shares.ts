import type { Limit, Return } from '../core/limit-store.js';
import type { Plan } from '../core/plan.js';

/** What one process may admit by itself while all of them have to do without the store. */
export class LocalShares {
  readonly #plans = new WeakMap<Plan, Plan>();

  /** The share of a plan, more than 0, up to 1. */
  constructor(private readonly share: number) {}

  ofLimit(limit: Limit): Limit {
    return { ...limit, plan: this.#ofPlan(limit.plan) };
  }

  ofReturn(returned: Return): Return {
    if (returned.kind !== 'cancel') {
      return { ...returned, limits: returned.limits.map((limit) => this.ofLimit(limit)) };
    }
    const limits = returned.decision.limits.map((one) => ({
      ...one,
      limit: this.ofLimit(one.limit),
    }));
    return { ...returned, decision: { ...returned.decision, limits } };
  }

  /** The same one every time: stores tell plans apart by identity. */
  #ofPlan(plan: Plan): Plan {
    if (this.share === 1) return plan;
    let share = this.#plans.get(plan);
    if (!share) this.#plans.set(plan, (share = shareOf(plan, this.share)));
    return share;
  }
}

function shareOf(plan: Plan, share: number): Plan {
  const quota = Math.max(1, Math.floor(plan.quota * share));
  return plan.kind === 'token-bucket'
    ? { ...plan, quota, refill: plan.refill * share }
    : { ...plan, quota };
}
