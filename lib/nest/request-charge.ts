import type { Lease } from '../core/lease.js';
import type { RateLimitResult } from '../core/rate-limit-result.js';
import type { PlanOrRate } from '../core/register.js';

/** What the request at hand was charged. Empty, and harmless, where nothing limits it. */
export class RequestCharge {
  readonly #leases: readonly Lease[];

  constructor(leases: readonly Lease[]) {
    this.#leases = leases;
  }

  /** What was decided: by the guard, then by the interceptor, where both had something to say. */
  get results(): readonly RateLimitResult[] {
    return this.#leases;
  }

  /**
   * Corrects what a plan was charged, once it is known: fewer tokens are given back, more are
   * charged, into debt if need be. The first call for a plan counts.
   */
  async settle(plan: PlanOrRate, tokens: number): Promise<void> {
    await Promise.all(this.#leases.map((lease) => lease.settle(plan, tokens)));
  }
}
