import { EventEmitter } from 'node:events';
import type { DocumentStore } from '../core/document-store.js';
import type { LeaseTies } from '../core/held-slots.js';
import { limitKey } from '../core/limit-key.js';
import { UNLIMITED } from '../core/plan.js';
import type { CheckedGateway } from './config/check-gateway-config.js';
import type { CompleteLimits, LevelLimits } from './config/gateway-config.js';
import { GatewayAdmission } from './connections/gateway-admission.js';
import type { GatewayAnswer, Visit } from './connections/gateway-answer.js';
import type { LevelExplanation } from './limits/explain-levels.js';
import { explainLevels } from './limits/explain-levels.js';
import type { RouteExplanation } from './limits/explain-route.js';
import { explainRoute } from './limits/explain-route.js';
import { GatewayState } from './limits/gateway-state.js';
import type { GatewayTarget } from './limits/gateway-target.js';
import { preparedIn, visitOf } from './limits/gateway-target.js';
import type { Level, LevelLimit } from './limits/level-limit.js';
import type { LevelUse } from './limits/level-use.js';
import { useOf } from './limits/level-use.js';
import type { GatewayMatch, GatewayPlace } from './routes/gateway-match.js';
import { NO_MATCH } from './routes/gateway-match.js';
import type { GatewayChange, GatewayEvents } from './updates/gateway-events.js';
import type { LevelChange } from './updates/gateway-overrides.js';
import {
  changesBetween,
  differenceOf,
  NO_OVERRIDES,
  withOverrides,
} from './updates/gateway-overrides.js';
import type { Settings } from './updates/gateway-settings.js';
import { GatewaySettings } from './updates/gateway-settings.js';
import {
  backendUpdate,
  fromZero,
  noUpdates,
  routeUpdate,
  serverUpdate,
} from './updates/gateway-updates.js';

/** What a gateway needs from outside. */
export interface GatewayLimiterDependencies extends LeaseTies {
  /** Keeps the updates that all processes share; without it nothing can be updated. */
  readonly documents?: DocumentStore | undefined;
  /** Called when the updates of other processes cannot be read. They stay as they were. */
  readonly onUnreadable?: (error: Error) => void;
  /** Makes lease ids that no other process makes. */
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

/**
 * Limits requests and connections on their way to other services: for the whole server, a route, a
 * backend and each client, all of them decided together. Limits can be changed while running, for
 * all processes.
 */
export class GatewayLimiter {
  /** Emits a change of limits, once for each level. */
  readonly events = new EventEmitter<GatewayEvents>();
  readonly #settings: GatewaySettings;
  readonly #admission: GatewayAdmission;
  readonly #keyOfClient: (clientIp: string) => string;
  #state: GatewayState;

  /** @internal Made by the module. */
  constructor(
    config: CheckedGateway,
    private readonly dependencies: GatewayLimiterDependencies,
  ) {
    const { documents, keyOfClient = (ip) => ip, onUnreadable = () => undefined } = dependencies;
    this.#state = new GatewayState(config, NO_OVERRIDES.epochs);
    this.#settings = new GatewaySettings(config, {
      documents,
      apply: (settings) => this.#apply(settings),
      onUnreadable,
    });
    this.#admission = new GatewayAdmission({ ...dependencies, currentState: () => this.#state });
    this.#keyOfClient = (clientIp) => keyOfClient(limitKey(clientIp));
  }

  /** Takes over the updates of other processes from now on. */
  start(): Promise<void> {
    return this.#settings.start();
  }

  /** Takes over no more updates. */
  stop(): void {
    this.#settings.stop();
  }

  /**
   * The route of a request and its backend; undefined if it is on none. Letter case counts in paths
   * only if the platform under the application distinguishes paths by it.
   */
  match(host: string | undefined, path: string): GatewayMatch | undefined {
    return this.find(host, path).match;
  }

  /**
   * Whether servers would read the path differently, and so find different routes. Refuse such a
   * request: it could choose the limits that count.
   */
  isAmbiguous(host: string | undefined, path: string): boolean {
    return this.find(host, path).isAmbiguous;
  }

  /**
   * Returns both, reading the path once.
   * @internal
   */
  find(host: string | undefined, path: string): GatewayPlace {
    const caseSensitive = this.dependencies.isCaseSensitive?.() ?? false;
    const { route, isAmbiguous } = this.#state.find(host, path, caseSensitive);
    return { match: route && { routeId: route.id, backend: route.backend }, isAmbiguous };
  }

  /** Counts a request against every limit of requests. */
  async tryAcquire(target: GatewayTarget): Promise<GatewayAnswer> {
    return this.#admission.decide(this.#visitOf(target), 'qps');
  }

  /** Opens a connection, which the answer gives back when it is released. */
  async tryAcquireConnection(target: GatewayTarget): Promise<GatewayAnswer> {
    return this.#admission.decide(this.#visitOf(target), 'connections');
  }

  /** Counts a request and opens its connection, all or nothing. */
  async enter(target: GatewayTarget): Promise<GatewayAnswer> {
    return this.#admission.decide(this.#visitOf(target), 'limits');
  }

  /**
   * Does as `enter` for a request whose place was found already; the client is named by its key.
   * @internal
   */
  async admit(match: GatewayMatch | undefined, clientIp: string): Promise<GatewayAnswer> {
    return this.#admission.decide({ ...(match ?? NO_MATCH), clientIp }, 'limits');
  }

  /** How much of a level is used; `id` is a route, a backend or the address of a client. */
  async current(level: Level, id = '', routeId?: string): Promise<LevelUse> {
    const prepared = preparedIn(this.#state, level, id, routeId);
    const client = level === 'client' ? this.#keyOfClient(id) : '';
    return useOf(this.dependencies.store, prepared, level, client);
  }

  /** Explains which level sets each effective limit of a route. */
  explain(routeId: string): RouteExplanation {
    return explainRoute(this.#state, routeId);
  }

  /** The limits of every level, the server's first, and whether they were changed while running. */
  explainLevels(): readonly LevelExplanation[] {
    return explainLevels(this.#state.config, this.#settings.overrides);
  }

  /**
   * The limits of all routes and backends, as they are counted.
   * @internal
   */
  levelLimits(): Iterable<LevelLimit> {
    return this.#state.limits();
  }

  /** Sets the limits of the whole server, in all processes; null for none. Returns false if nothing changes. */
  async updateServer(limits: LevelLimits | null): Promise<boolean> {
    return this.#settings.update(serverUpdate(limits));
  }

  /** Sets the limits of a backend, in all processes; null for none. Returns false if nothing changes. */
  async updateBackend(name: string, limits: LevelLimits | null): Promise<boolean> {
    return this.#settings.update(backendUpdate(name, limits));
  }

  /** Sets the limits of a route, in all processes; null for none. Returns false if nothing changes. */
  async updateRoute(routeId: string, limits: LevelLimits | null): Promise<boolean> {
    return this.#settings.update(routeUpdate(routeId, limits));
  }

  /**
   * Goes back to the configuration, in all processes. Updates last until then, also over restarts, or
   * until the configuration of their level changes. Returns false if there were none.
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
   * Takes over another configuration. Levels whose limits differ in it lose their updates.
   * @internal
   */
  changeConfig(config: CheckedGateway): Promise<void> {
    return this.#settings.changeConfig(config);
  }

  #visitOf(target: GatewayTarget): Visit {
    return visitOf(target, this.#state, this.#keyOfClient);
  }

  async #apply({ config, overrides }: Settings): Promise<void> {
    const before = this.#state;
    const after = new GatewayState(withOverrides(config, overrides), overrides.epochs);
    await this.#admission.countOpen(after);
    this.#state = after;
    for (const change of changesBetween(before.config, after.config)) await this.#notify(change);
  }

  async #notify({ level, id, before, after }: LevelChange): Promise<void> {
    const tooManyConnections = isTightened(before, after)
      ? Math.max(0, ((await this.current(level, id)).connections ?? 0) - after.maxConnections)
      : 0;
    const difference = differenceOf(before, after);
    this.#emit({ level, id, difference, tooManyConnections });
  }

  /** The limits have changed by now: if a listener throws, the update has not failed. */
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
