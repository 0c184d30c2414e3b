import { EventEmitter } from 'node:events';
import type { Awaitable } from '../core/awaitable.js';
import { isPending } from '../core/awaitable.js';
import type { DocumentStore } from '../core/document-store.js';
import type { LeaseTies } from '../core/lease.js';
import { heldBy } from '../core/lent-slots.js';
import { limitKey } from '../core/limit-key.js';
import type { Decision, Inquiry } from '../core/limit-store.js';
import { UNLIMITED } from '../core/plan.js';
import type { CheckedGateway } from './check-gateway-config.js';
import type { RouteExplanation } from './explain-route.js';
import { explainRoute } from './explain-route.js';
import type { LevelExplanation } from './explain-levels.js';
import { explainLevels } from './explain-levels.js';
import type { AnswerTies, GatewayDenial, Visit } from './gateway-answer.js';
import { GatewayAnswer, refusal } from './gateway-answer.js';
import type { LevelChange } from './gateway-changes.js';
import { changesBetween, differenceOf, NO_OVERRIDES, withOverrides } from './gateway-changes.js';
import type { CompleteLimits, LevelLimits } from './gateway-config.js';
import type { GatewayChange, GatewayEvents } from './gateway-events.js';
import type { Level, LevelLimit, Resource } from './gateway-levels.js';
import { limitFor, refusesAll, uncapped } from './gateway-levels.js';
import type { Settings } from './gateway-settings.js';
import { GatewaySettings } from './gateway-settings.js';
import type { Prepared } from './gateway-state.js';
import { GatewayState } from './gateway-state.js';
import type { GatewayMatch, GatewayPlace, GatewayTarget } from './gateway-target.js';
import { preparedIn, visitOf } from './gateway-target.js';
import {
  backendUpdate,
  fromZero,
  noUpdates,
  routeUpdate,
  serverUpdate,
} from './gateway-updates.js';
import { OpenConnections } from './open-connections.js';

/** What is used of a level at the moment; undefined where nothing is limited, and so not counted. */
export interface LevelUse {
  /** Requests in the last second. */
  readonly qps: number | undefined;
  /** More than the limit after that was lowered, until enough have ended. */
  readonly connections: number | undefined;
}

/** What a gateway needs from outside. */
export interface GatewayLimiterDependencies extends LeaseTies {
  /** Keeps the updates that all processes share; without it nothing can be updated. */
  readonly documents?: DocumentStore | undefined;
  /** Called when the updates of other processes cannot be read. They stay as they were. */
  readonly onUnreadable?: (error: Error) => void;
  readonly newLeaseId: () => string;
  /**
   * One way to write the address of each client.
   * @default as it is given
   */
  readonly keyOfClient?: (clientIp: string) => string;
  /**
   * Whether letter case counts in the paths of routes.
   * @default it does not
   */
  readonly isCaseSensitive?: () => boolean;
}

/** How often those are looked for that were opened while others were counted. */
const MAX_ROUNDS = 5;
const NOTHING_LIMITS: Decision = { allowed: true, waitUs: 0, atUs: 0, limits: [] };

/**
 * Limits requests and connections on their way to other services: for the whole server, a route, a
 * backend and each client, all of them decided together. Limits can be changed while running, for
 * all processes.
 */
export class GatewayLimiter {
  /** Tells what changes, once for each level. */
  readonly events = new EventEmitter<GatewayEvents>();
  readonly #settings: GatewaySettings;
  readonly #open: OpenConnections;
  readonly #answerTies: AnswerTies;
  readonly #keyOfClient: (clientIp: string) => string;
  #state: GatewayState;

  /** @internal Made by the module. */
  constructor(
    config: CheckedGateway,
    private readonly ties: GatewayLimiterDependencies,
  ) {
    this.#state = new GatewayState(config, NO_OVERRIDES.epochs);
    this.#settings = new GatewaySettings(config, {
      documents: ties.documents,
      apply: (settings) => this.#apply(settings),
      onUnreadable: ties.onUnreadable ?? (() => undefined),
    });
    this.#open = new OpenConnections(ties.store, ties.newLeaseId);
    const { keyOfClient = (clientIp) => clientIp } = ties;
    this.#keyOfClient = (clientIp) => keyOfClient(limitKey(clientIp));
    this.#answerTies = {
      ...ties,
      onClose: this.#open.remove,
      onForgotten: async (answer) => this.#open.countOne(answer, this.#state),
    };
  }

  /** Takes over what was changed in other processes, from now on. */
  start(): Promise<void> {
    return this.#settings.start();
  }

  /** Hears of no more changes. */
  stop(): void {
    this.#settings.stop();
  }

  /**
   * The route of a request and its backend; undefined when it is on none. Letter case counts in paths
   * only where the platform under the application tells paths apart by it.
   */
  match(host: string | undefined, path: string): GatewayMatch | undefined {
    return this.find(host, path).match;
  }

  /**
   * Whether servers would read the path differently, and so find different routes: such a request
   * could choose whose limits count, and is better refused.
   */
  isAmbiguous(host: string | undefined, path: string): boolean {
    return this.find(host, path).isAmbiguous;
  }

  /**
   * Both of these, for one reading of the path.
   * @internal
   */
  find(host: string | undefined, path: string): GatewayPlace {
    const caseSensitive = this.ties.isCaseSensitive?.() ?? false;
    const { route, isAmbiguous } = this.#state.find(host, path, caseSensitive);
    return { match: route && { routeId: route.id, backend: route.backend }, isAmbiguous };
  }

  /** Counts a request against every limit of requests. */
  async tryAcquire(target: GatewayTarget): Promise<GatewayAnswer> {
    return this.#decide(target, 'qps');
  }

  /** Opens a connection, which the answer gives back when it is released. */
  async tryAcquireConnection(target: GatewayTarget): Promise<GatewayAnswer> {
    return this.#decide(target, 'connections');
  }

  /** Counts a request and opens its connection, all or nothing. */
  async enter(target: GatewayTarget): Promise<GatewayAnswer> {
    return this.#decide(target, 'limits');
  }

  /** What is used of a level; `id` is a route, a backend or the address of a client. */
  async current(level: Level, id = '', routeId?: string): Promise<LevelUse> {
    const prepared = preparedIn(this.#state, level, id, routeId);
    const client = level === 'client' ? this.#keyOfClient(id) : '';
    return {
      qps: await this.#used(prepared, level, 'qps', client),
      connections: await this.#used(prepared, level, 'connections', client),
    };
  }

  /** Which level each effective value of a route came from. */
  explain(routeId: string): RouteExplanation {
    return explainRoute(this.#state, routeId);
  }

  /** The limits of every level, the server's first, and whether they were changed while running. */
  explainLevels(): readonly LevelExplanation[] {
    return explainLevels(this.#state.config, this.#settings.overrides);
  }

  /**
   * The limits of every destination, as they are counted.
   * @internal
   */
  levelLimits(): Iterable<LevelLimit> {
    return this.#state.limits();
  }

  /** Other limits for the whole server, in all processes; null for none. False when nothing changes. */
  async updateServer(limits: LevelLimits | null): Promise<boolean> {
    return this.#settings.update(serverUpdate(limits));
  }

  /** Other limits for a backend, in all processes; null for none. False when nothing changes. */
  async updateBackend(name: string, limits: LevelLimits | null): Promise<boolean> {
    return this.#settings.update(backendUpdate(name, limits));
  }

  /** Other limits for a route, in all processes; null for none. False when nothing changes. */
  async updateRoute(routeId: string, limits: LevelLimits | null): Promise<boolean> {
    return this.#settings.update(routeUpdate(routeId, limits));
  }

  /**
   * Goes back to the configuration, in all processes: updates stay until then, also over restarts,
   * or until the configuration of their level changes. False when there were none.
   */
  async revertUpdates(): Promise<boolean> {
    return this.#settings.update(noUpdates());
  }

  /** Counts the requests of every route from zero, in all processes. Open connections stay counted. */
  async clearRouteLimiters(): Promise<void> {
    await this.#settings.update(fromZero('routes'));
  }

  /** Counts the requests of every client from zero, in all processes. Open connections stay counted. */
  async clearClientLimiters(): Promise<void> {
    await this.#settings.update(fromZero('clients'));
  }

  /**
   * Another configuration: levels whose limits differ in it count before what was changed running.
   * @internal
   */
  changeConfig(config: CheckedGateway): Promise<void> {
    return this.#settings.changeConfig(config);
  }

  #decide(target: GatewayTarget, what: Resource | 'limits'): Awaitable<GatewayAnswer> {
    const state = this.#state;
    const visit = visitOf(target, state, this.#keyOfClient);
    const asked = state.preparedFor(visit)[what];
    const opens = what !== 'qps';
    const leaseId = opens ? this.ties.newLeaseId() : '';
    const answer = (decision: Decision) => {
      const made = this.#answer(decision, asked, leaseId);
      return made.allowed && opens ? this.#keep(made, visit, state) : made;
    };
    const refusing = asked.find(refusesAll);
    if (refusing) return this.#refuse(refusing, visit.clientIp);
    if (asked.length === 0) return answer(NOTHING_LIMITS);
    const limits = asked.map((limit) => limitFor(limit, visit.clientIp));
    const deciding = this.ties.store.decide({ limits, mode: 'take', maxWaitUs: 0, leaseId });
    return isPending(deciding) ? deciding.then(answer) : answer(deciding);
  }

  #refuse(refusing: LevelLimit, clientIp: string): GatewayAnswer {
    const decision = refusal({ ...refusing, limit: limitFor(refusing, clientIp) });
    this.ties.store.witness(decision);
    return this.#answer(decision, [refusing], '');
  }

  #answer(decision: Decision, asked: readonly LevelLimit[], leaseId: string): GatewayAnswer {
    const held = heldBy(decision, leaseId);
    return new GatewayAnswer(decision, denialIn(decision, asked), held, this.#answerTies);
  }

  /** Limits may have changed while the store was asked: the connection is counted by them, too. */
  #keep(answer: GatewayAnswer, visit: Visit, state: GatewayState): Awaitable<GatewayAnswer> {
    this.#open.add(answer, visit);
    const counting = state === this.#state ? undefined : this.#open.countOne(answer, this.#state);
    return counting ? counting.then(() => answer) : answer;
  }

  async #used(
    prepared: Prepared,
    level: Level,
    resource: Resource,
    clientIp: string,
  ): Promise<number | undefined> {
    const limit = prepared[resource].find((one) => one.level === level);
    if (!limit) return undefined;
    const limits = [limitFor(uncapped(limit), clientIp)];
    const inquiry: Inquiry = { limits, mode: 'peek', maxWaitUs: 0, leaseId: '' };
    const [said] = (await this.ties.store.decide(inquiry)).limits;
    return said ? said.limit.plan.quota - said.remaining : 0;
  }

  async #apply({ config, overrides }: Settings): Promise<void> {
    const before = this.#state;
    const after = new GatewayState(withOverrides(config, overrides), overrides.epochs);
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const counting = this.#open.countAll(after);
      if (!counting) break;
      await counting;
    }
    this.#state = after;
    for (const change of changesBetween(before.config, after.config)) await this.#tell(change);
  }

  async #tell({ level, id, before, after }: LevelChange): Promise<void> {
    const tooManyConnections = isTightened(before, after)
      ? Math.max(0, ((await this.current(level, id)).connections ?? 0) - after.maxConnections)
      : 0;
    const difference = differenceOf(before, after);
    this.#emit({ level, id, difference, tooManyConnections });
  }

  /** The limits have changed by now: a listener that throws must not look like an update that failed. */
  #emit(change: GatewayChange): void {
    try {
      this.events.emit('change', change);
    } catch (error) {
      process.emitWarning(`A listener of GatewayLimiter.events threw: ${String(error)}`);
    }
  }
}

function isTightened(before: CompleteLimits, after: CompleteLimits): boolean {
  if (after.maxConnections === UNLIMITED) return false;
  return before.maxConnections === UNLIMITED || after.maxConnections < before.maxConnections;
}

function denialIn(
  { allowed, failure, limits }: Decision,
  asked: readonly LevelLimit[],
): GatewayDenial | undefined {
  // Where the store could not answer, it names other limits than were asked, or none.
  if (allowed || failure !== undefined) return undefined;
  const refusing = asked[limits.findIndex(({ admits }) => !admits)];
  return refusing && { level: refusing.level, resource: refusing.resource };
}
