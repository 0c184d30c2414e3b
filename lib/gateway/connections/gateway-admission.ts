import type { Awaitable } from '../../core/awaitable.js';
import { isPending } from '../../core/awaitable.js';
import type { LeaseTies } from '../../core/held-slots.js';
import { heldBy } from '../../core/lent-slots.js';
import type { Decision } from '../../core/limit-store.js';
import { UNLIMITED_DECISION } from '../../core/rate-limit-result.js';
import type { GatewayState } from '../limits/gateway-state.js';
import type { LevelLimit, Resource } from '../limits/level-limit.js';
import { limitFor, refusesAll } from '../limits/level-limit.js';
import type { AnswerDependencies, GatewayDenial, Visit } from './gateway-answer.js';
import { GatewayAnswer, refusal } from './gateway-answer.js';
import { OpenConnections } from './open-connections.js';

/** What admission needs from outside. */
export interface AdmissionDependencies extends LeaseTies {
  /** Makes lease ids that no other process makes. */
  readonly newLeaseId: () => string;
  /** The limits that count now. */
  readonly currentState: () => GatewayState;
}

/** How often connections are looked for that were opened while others were counted. */
const MAX_ROUNDS = 5;

/** Decides on requests and connections, and knows the connections that this process has open. */
export class GatewayAdmission {
  readonly #open: OpenConnections;
  readonly #answerDependencies: AnswerDependencies;

  constructor(private readonly dependencies: AdmissionDependencies) {
    const { store, newLeaseId, currentState } = dependencies;
    this.#open = new OpenConnections(store, newLeaseId);
    this.#answerDependencies = {
      ...dependencies,
      onClose: this.#open.remove,
      onForgotten: async (answer) => this.#open.countOne(answer, currentState()),
    };
  }

  /** Counts a request (`qps`), opens a connection (`connections`), or both (`limits`). */
  decide(visit: Visit, what: Resource | 'limits'): Awaitable<GatewayAnswer> {
    const state = this.dependencies.currentState();
    const asked = state.preparedFor(visit)[what];
    const opens = what !== 'qps';
    const leaseId = opens ? this.dependencies.newLeaseId() : '';
    const answer = (decision: Decision) => {
      const made = this.#answer(decision, asked, leaseId);
      return made.allowed && opens ? this.#keep(made, visit, state) : made;
    };
    const refusing = asked.find(refusesAll);
    if (refusing) return this.#refuse(refusing, visit.clientIp);
    if (asked.length === 0) return answer(UNLIMITED_DECISION);
    const limits = asked.map((limit) => limitFor(limit, visit.clientIp));
    const inquiry = { limits, mode: 'take', maxWaitUs: 0, leaseId } as const;
    const deciding = this.dependencies.store.decide(inquiry);
    return isPending(deciding) ? deciding.then(answer) : answer(deciding);
  }

  /** Has every open connection counted by the limits of a state before that takes effect. */
  async countOpen(state: GatewayState): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const counting = this.#open.countAll(state);
      if (!counting) return;
      await counting;
    }
  }

  #refuse(refusing: LevelLimit, clientIp: string): GatewayAnswer {
    const decision = refusal({ ...refusing, limit: limitFor(refusing, clientIp) });
    this.dependencies.store.witness(decision);
    return this.#answer(decision, [refusing], '');
  }

  #answer(decision: Decision, asked: readonly LevelLimit[], leaseId: string): GatewayAnswer {
    const held = heldBy(decision, leaseId);
    return new GatewayAnswer(decision, denialIn(decision, asked), held, this.#answerDependencies);
  }

  /** Limits may have changed while the store was asked: the connection is counted by them, too. */
  #keep(answer: GatewayAnswer, visit: Visit, state: GatewayState): Awaitable<GatewayAnswer> {
    this.#open.add(answer, visit);
    const current = this.dependencies.currentState();
    const counting = state === current ? undefined : this.#open.countOne(answer, current);
    return counting ? counting.then(() => answer) : answer;
  }
}

function denialIn(
  { allowed, failure, limits }: Decision,
  asked: readonly LevelLimit[],
): GatewayDenial | undefined {
  // If the store could not answer, the decision names other limits than were asked, or none.
  if (allowed || failure !== undefined) return undefined;
  const refusing = asked[limits.findIndex(({ admits }) => !admits)];
  return refusing && { level: refusing.level, resource: refusing.resource };
}
