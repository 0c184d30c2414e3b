import { isPending } from '../../core/awaitable.js';
import type { Decision, Inquiry, Limit, LimitStore } from '../../core/limit-store.js';
import type { GatewayAnswer, Visit } from './gateway-answer.js';
import { limitFor, uncapped } from '../limits/level-limit.js';
import type { GatewayState } from '../limits/gateway-state.js';

/**
 * The connections that this process has open, limited or not. A limit that is set later has to count
 * them, or it would admit as many again.
 */
export class OpenConnections {
  readonly #open = new Map<GatewayAnswer, Visit>();

  constructor(
    private readonly store: LimitStore,
    private readonly newLeaseId: () => string,
  ) {}

  add(answer: GatewayAnswer, visit: Visit): void {
    this.#open.set(answer, visit);
  }

  readonly remove = (answer: GatewayAnswer): void => {
    this.#open.delete(answer);
  };

  /**
   * Counts all connections by the limits of a state that do not count them yet. Returns undefined if
   * that is done, a promise if the store has to answer first.
   */
  countAll(state: GatewayState): Promise<void> | undefined {
    const counting: Promise<void>[] = [];
    for (const answer of this.#open.keys()) {
      const one = this.countOne(answer, state);
      if (one) counting.push(one);
    }
    return counting.length > 0 ? Promise.all(counting).then(() => undefined) : undefined;
  }

  /** Counts one connection by the limits of a state that do not count it yet. */
  countOne(answer: GatewayAnswer, state: GatewayState): Promise<void> | undefined {
    const visit = this.#open.get(answer);
    const limits = visit ? uncountedLimits(answer, visit, state) : [];
    if (limits.length === 0) return undefined;
    const leaseId = answer.held?.leaseId ?? this.newLeaseId();
    const asked = { limits, mode: 'take', maxWaitUs: 0, leaseId } as const;
    const inquiry: Inquiry = { ...asked, isBookkeeping: true };
    const deciding = this.store.decide(inquiry);
    return isPending(deciding)
      ? deciding.then((decision) => this.#hold(answer, inquiry, decision))
      : this.#hold(answer, inquiry, deciding);
  }

  #hold(
    answer: GatewayAnswer,
    { leaseId, limits }: Inquiry,
    { allowed, failure }: Decision,
  ): Promise<void> | undefined {
    // A store that does not answer counts nothing. Such connections stay uncounted.
    if (!allowed || failure !== undefined || answer.countBy({ leaseId, limits })) return undefined;
    const releasing = this.store.giveBack({ kind: 'release', leaseId, limits });
    return isPending(releasing) ? releasing.then(() => undefined) : undefined;
  }
}

function uncountedLimits(answer: GatewayAnswer, visit: Visit, state: GatewayState): Limit[] {
  const counted = answer.held?.limits ?? [];
  return state
    .preparedFor(visit)
    .connections.map((limit) => limitFor(uncapped(limit), visit.clientIp))
    .filter(({ key }) => !counted.some((limit) => limit.key === key));
}
