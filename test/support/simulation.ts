import type { Decision, Inquiry, Limit, LimitStore } from '../../lib/core/limit-store.js';
import type { Plan } from '../../lib/core/plan.js';
import type { FakeClock } from './fake-clock.js';
import type { Step } from './random-worlds.js';
import { costOf, lengthUs } from './random-worlds.js';

/** A store that remembers nothing yet, and the clock that it goes by. */
export interface TimedStore {
  readonly store: LimitStore;
  readonly clock: FakeClock;
}

/** A store on a clock of its own, asked one step after the other. */
export class Simulation {
  readonly store: LimitStore;
  readonly clock: FakeClock;
  #leases = 0;
  #lastWaitUs = 0;

  constructor(
    { store, clock }: TimedStore,
    readonly plans: readonly Plan[],
  ) {
    this.store = store;
    this.clock = clock;
  }

  limitsOf({ plans, key, share, excess }: Step): Limit[] {
    return plans.map((index) => {
      const plan = this.plans[index]!;
      return { plan, key, cost: costOf(plan, share) + (excess ? plan.quota : 0) };
    });
  }

  pauseBefore({ pause, plans }: Step): void {
    const us = lengthUs(this.plans[plans[0]!]!);
    const whole = { nothing: 0, period: us, wait: this.#lastWaitUs, long: 3 * us }[pause.of];
    this.clock.advanceUs(Math.floor(whole * pause.share));
  }

  async decide(
    limits: readonly Limit[],
    mode: Inquiry['mode'],
    maxWaitUs = 0,
  ): Promise<Decision & { leaseId: string }> {
    const leaseId = `lease-${this.#leases++}`;
    const decision = await this.store.decide({ limits, mode, maxWaitUs, leaseId });
    this.#lastWaitUs = Number.isFinite(decision.waitUs) ? decision.waitUs : 0;
    return { ...decision, leaseId };
  }

  /** What every limit says when it is asked by itself. */
  async lookAround() {
    const limits = this.plans.flatMap((plan) =>
      ['a', 'b'].map((key) => ({ plan, key, cost: costOf(plan, 0.5) })),
    );
    const asking = limits.map(async (limit) => {
      const alone = { limits: [limit], mode: 'peek', maxWaitUs: 0, leaseId: '' } as const;
      const { allowed, waitUs, limits: said } = await this.store.decide(alone);
      const values = said.map(({ admits, remaining, resetUs }) => [admits, remaining, resetUs]);
      return [limit.plan.name, limit.key, allowed, waitUs, ...values];
    });
    return Promise.all(asking);
  }
}
