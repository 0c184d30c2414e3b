import { EventEmitter } from 'node:events';
import type { LeaseTies } from '../core/lease.js';
import type { Decision, Inquiry } from '../core/limit-store.js';
import { UNLIMITED } from '../core/plan.js';
import type { LimitSource } from './cascade.js';
import type { CheckedGateway } from './check-gateway-config.js';
import { GatewayAnswer, refusal, renamed } from './gateway-answer.js';
import type { GatewayOverrides } from './gateway-changes.js';
import { differenceOf, NO_OVERRIDES, parseOverrides, withOverrides } from './gateway-changes.js';
import type { CompleteLimits, LevelLimits } from './gateway-config.js';
import { completeLimits, InvalidGatewayConfigError, NO_LIMITS } from './gateway-config.js';
import type { Level, LevelLimit, Resource } from './gateway-levels.js';
import { limitOf, refusesAll } from './gateway-levels.js';
import type { PreparedRoute } from './gateway-state.js';
import { GatewayState } from './gateway-state.js';

/** Who asks for what. */
export interface GatewayTarget {
  /** The route of the request; without one, only the server's limits and those of the backend count. */
  readonly routeId?: string | undefined;
  /**
   * Where it goes.
   * @default the backend of the route
   */
  readonly backend?: string | undefined;
  readonly clientIp: string;
}

/** Where each effective value of a route came from. */
export interface RouteExplanation {
  readonly routeId: string;
  readonly backend: string;
  readonly values: readonly {
    readonly level: Level;
    readonly limit: keyof LevelLimits;
    readonly value: number;
    readonly source: LimitSource;
  }[];
}

/** What is used of a level at the moment; undefined where nothing is limited, and so not counted. */
export interface LevelUse {
  readonly qps: number | undefined;
  readonly connections: number | undefined;
}

/** A change of limits while running. */
export interface GatewayChange {
  readonly level: 'server' | 'backend' | 'route';
  /** The name of the backend or the id of the route; '' for the server. */
  readonly id: string;
  /** What changed, as `maxQps 10 → 20`. */
  readonly difference: readonly string[];
  /** Connections that are open although the new limit is lower: they stay until they end. */
  readonly tooManyConnections: number;
}

/** What happens, by the name of the event. */
export interface GatewayEvents {
  change: [GatewayChange];
}

/** What a gateway hangs on. */
export interface GatewayTies extends LeaseTies {
  readonly newLeaseId: () => string;
}

const NOTICE = 'gateway';
/** How often an update is tried when others update at the same time. */
const MAX_TRIES = 20;

/**
 * Limits requests and connections on their way to other services: for the whole server, a route, a
 * backend and each client, all of them decided together. Limits can be changed while running, for
 * all processes.
 */
export class GatewayLimiter {
  /** Tells what changes, once for each level. */
  readonly events = new EventEmitter<GatewayEvents>();
  #config: CheckedGateway;
  #version = 0;
  #state: GatewayState;
  #unwatch: (() => void) | undefined;

  constructor(
    config: CheckedGateway,
    private readonly ties: GatewayTies,
  ) {
    this.#config = config;
    this.#state = new GatewayState(config, NO_OVERRIDES.epochs);
  }

  /** Takes over what was changed in other processes, from now on. */
  async start(): Promise<void> {
    this.#unwatch = this.ties.store.watchNotice(NOTICE, () => void this.#refresh());
    await this.#refresh();
  }

  stop(): void {
    this.#unwatch?.();
  }

  /** The route of a request; undefined when it is on none. */
  match(host: string | undefined, path: string): string | undefined {
    return this.#state.match(host, path)?.route.id;
  }

  /**
   * Whether servers would read the path differently, and so find different routes: such a request
   * could choose whose limits count, and is better refused.
   */
  isAmbiguous(host: string | undefined, path: string): boolean {
    return this.#state.isAmbiguous(host, path);
  }

  /** Counts a request against every limit of requests. */
  tryAcquire(target: GatewayTarget): Promise<GatewayAnswer> {
    return this.#decide(target, (limit) => limit.resource === 'qps');
  }

  /** Opens a connection, which the answer gives back when it is released. */
  tryAcquireConnection(target: GatewayTarget): Promise<GatewayAnswer> {
    return this.#decide(target, (limit) => limit.resource === 'connections');
  }

  /** Counts a request and opens its connection, all or nothing. */
  enter(target: GatewayTarget): Promise<GatewayAnswer> {
    return this.#decide(target, () => true);
  }

  /** What is used of a level; `id` is a route, a backend or the address of a client. */
  async current(level: Level, id = '', routeId?: string): Promise<LevelUse> {
    const { limits } = preparedIn(this.#state, level, id, routeId);
    const client = level === 'client' ? id : '';
    return {
      qps: await this.#used(limits, level, 'qps', client),
      connections: await this.#used(limits, level, 'connections', client),
    };
  }

  /** Which level each effective value of a route came from. */
  explain(routeId: string): RouteExplanation {
    const { route, client } = routeIn(this.#state, routeId);
    const { server } = this.#state.config;
    const backend = this.#state.limitsOf(route.backend);
    const own = (level: 'server' | 'route' | 'backend', limits: CompleteLimits) =>
      (['maxQps', 'maxConnections'] as const).map((limit) => ({
        ...{ level, limit, value: limits[limit] },
        source: limits[limit] === UNLIMITED ? ('none' as const) : level,
      }));
    return {
      routeId,
      backend: route.backend,
      values: [
        ...own('server', server),
        ...own('route', route.limits),
        ...own('backend', backend),
        { level: 'client', limit: 'maxQpsPerClient', ...client.maxQps },
        { level: 'client', limit: 'maxConnectionsPerClient', ...client.maxConnections },
      ],
    };
  }

  /** Other limits for the whole server, in all processes; null for none. False when nothing changes. */
  updateServer(limits: LevelLimits | null): Promise<boolean> {
    const complete = completeLimits('server', limits ?? NO_LIMITS);
    return this.#update((overrides) => {
      const before = overrides.server ?? this.#config.server;
      // Requests are counted from zero under a new limit; connections that are open stay counted.
      const anew = before.maxQps === complete.maxQps ? 0 : 1;
      const epochs = { ...overrides.epochs, server: overrides.epochs.server + anew };
      return [before, complete, { ...overrides, server: complete, epochs }];
    });
  }

  /** Other limits for a backend, in all processes; null for none. */
  updateBackend(name: string, limits: LevelLimits | null): Promise<boolean> {
    const configured = this.#config.backends.get(name);
    if (!configured) throw unknown('backend', name, this.#config.backends.keys());
    const complete = completeLimits(`backend ${name}`, limits ?? NO_LIMITS);
    return this.#update((overrides) => {
      const backends = { ...overrides.backends, [name]: complete };
      return [overrides.backends[name] ?? configured, complete, { ...overrides, backends }];
    });
  }

  /** Other limits for a route, in all processes; null for none. */
  updateRoute(routeId: string, limits: LevelLimits | null): Promise<boolean> {
    const configured = this.#config.routes.find(({ id }) => id === routeId);
    const known = this.#config.routes.map(({ id }) => id);
    if (!configured) throw unknown('route', routeId, known);
    const complete = completeLimits(`route ${routeId}`, limits ?? NO_LIMITS);
    return this.#update((overrides) => {
      const routes = { ...overrides.routes, [routeId]: complete };
      const before = overrides.routes[routeId] ?? configured.limits;
      return [before, complete, { ...overrides, routes }];
    });
  }

  /** Counts every route from zero, in all processes. */
  async clearRouteLimiters(): Promise<void> {
    await this.#update((overrides) => {
      const epochs = { ...overrides.epochs, routes: overrides.epochs.routes + 1 };
      return [undefined, undefined, { ...overrides, epochs }];
    });
  }

  /** Counts every client from zero, in all processes. */
  async clearClientLimiters(): Promise<void> {
    await this.#update((overrides) => {
      const epochs = { ...overrides.epochs, clients: overrides.epochs.clients + 1 };
      return [undefined, undefined, { ...overrides, epochs }];
    });
  }

  /** Another configuration: levels whose limits differ in it count before what was changed running. */
  async changeConfig(config: CheckedGateway): Promise<void> {
    const before = this.#config;
    this.#config = config;
    await this.#update((overrides) => [
      undefined,
      undefined,
      withoutChanged(overrides, before, config),
    ]);
    await this.#apply(parseOverrides((await this.ties.store.readNotice(NOTICE)).text));
  }

  async #decide(
    target: GatewayTarget,
    wanted: (limit: LevelLimit) => boolean,
  ): Promise<GatewayAnswer> {
    const asked = this.#state.prepareFor(target.routeId, target.backend).limits.filter(wanted);
    const refusing = asked.find(refusesAll);
    if (refusing) return this.#answer(refusal(refusing), [refusing], '');
    if (asked.length === 0) return this.#answer(NOTHING_LIMITS, [], '');
    const lends = asked.some(({ resource }) => resource === 'connections');
    const leaseId = lends ? this.ties.newLeaseId() : '';
    const limits = asked.map((limit) => limitOf(limit, target.clientIp));
    const inquiry: Inquiry = { limits, mode: 'take', maxWaitUs: 0, leaseId };
    return this.#answer(await this.ties.store.decide(inquiry), asked, leaseId);
  }

  #answer(decision: Decision, asked: readonly LevelLimit[], leaseId: string): GatewayAnswer {
    const held = decision.allowed && leaseId !== '' ? heldBy(decision, leaseId) : undefined;
    const denied = decision.limits.findIndex(({ admits }) => !admits);
    const denial = decision.allowed || denied === -1 ? undefined : asked[denied];
    // Where the store could not answer, it names other limits than were asked, or none.
    const told = decision.failure === undefined ? renamed(decision, asked) : decision;
    return new GatewayAnswer(told, denial, held, this.ties);
  }

  async #used(
    prepared: readonly LevelLimit[],
    level: Level,
    resource: Resource,
    clientIp: string,
  ): Promise<number | undefined> {
    const limit = prepared.find((one) => one.level === level && one.resource === resource);
    if (!limit || refusesAll(limit)) return undefined;
    const limits = [limitOf(limit, clientIp)];
    const inquiry: Inquiry = { limits, mode: 'peek', maxWaitUs: 0, leaseId: '' };
    const [said] = (await this.ties.store.decide(inquiry)).limits;
    return said ? limit.plan.quota - said.remaining : 0;
  }

  /** Changes what all processes share; only a real change acts. */
  async #update(
    change: (
      overrides: GatewayOverrides,
    ) => [before: CompleteLimits | undefined, after: CompleteLimits | undefined, GatewayOverrides],
  ): Promise<boolean> {
    const { store } = this.ties;
    let notice = await store.readNotice(NOTICE);
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const now = parseOverrides(notice.text);
      const [before, after, next] = change(now);
      if (before && after && differenceOf(before, after).length === 0) return false;
      if (JSON.stringify(next) === JSON.stringify(now)) return false;
      const posted = await store.postNotice(NOTICE, notice.version, JSON.stringify(next));
      if (posted.posted) {
        this.#version = posted.version;
        await this.#apply(next);
        return true;
      }
      notice = posted;
    }
    throw new Error('The limits of the gateway could not be changed: others change them as well.');
  }

  async #refresh(): Promise<void> {
    try {
      const { version, text } = await this.ties.store.readNotice(NOTICE);
      if (version === this.#version) return;
      this.#version = version;
      await this.#apply(parseOverrides(text));
    } catch {
      // The store does not answer: the limits stay, and it is looked again when it is back.
    }
  }

  async #apply(overrides: GatewayOverrides): Promise<void> {
    const old = this.#state;
    const after = withOverrides(this.#config, overrides);
    this.#state = new GatewayState(after, overrides.epochs);
    await this.#tell(old, 'server', '', old.config.server, after.server);
    for (const [name, limits] of after.backends) {
      await this.#tell(old, 'backend', name, old.limitsOf(name), limits);
    }
    for (const { id, limits } of after.routes) {
      await this.#tell(old, 'route', id, old.route(id)?.route.limits ?? NO_LIMITS, limits);
    }
  }

  async #tell(
    old: GatewayState,
    level: GatewayChange['level'],
    id: string,
    before: CompleteLimits,
    after: CompleteLimits,
  ): Promise<void> {
    const difference = differenceOf(before, after);
    if (difference.length === 0) return;
    const tooManyConnections = isTightened(before, after)
      ? Math.max(0, (await this.#heldUnder(old, level, id)) - after.maxConnections)
      : 0;
    this.events.emit('change', { level, id, difference, tooManyConnections });
  }

  /** Asked under the old limit: the new one tells no more than that it is reached. */
  async #heldUnder(old: GatewayState, level: GatewayChange['level'], id: string): Promise<number> {
    const { limits } = preparedIn(old, level, id, undefined);
    return (await this.#used(limits, level, 'connections', '')) ?? 0;
  }
}

/** Where nothing was limited before, nothing was counted either. */
function isTightened(before: CompleteLimits, after: CompleteLimits): boolean {
  return after.maxConnections !== UNLIMITED && after.maxConnections < before.maxConnections;
}

function preparedIn(
  state: GatewayState,
  level: Level,
  id: string,
  routeId: string | undefined,
): PreparedRoute {
  if (level === 'route') return routeIn(state, id);
  if (level === 'backend') return state.prepareFor(undefined, id);
  return routeId === undefined ? state.prepareFor(undefined, undefined) : routeIn(state, routeId);
}

function routeIn(state: GatewayState, id: string): PreparedRoute {
  const route = state.route(id);
  if (route) return route;
  throw unknown(
    'route',
    id,
    [...state.routes].map((one) => one.route.id),
  );
}

const NOTHING_LIMITS: Decision = { allowed: true, waitUs: 0, atUs: 0, limits: [] };

function heldBy(decision: Decision, leaseId: string) {
  const lent = decision.limits.filter(({ limit }) => limit.plan.kind === 'concurrency');
  return lent.length > 0 ? { leaseId, limits: lent.map(({ limit }) => limit) } : undefined;
}

/** What was changed running of levels that the configuration has changed since is no longer meant. */
function withoutChanged(
  overrides: GatewayOverrides,
  before: CheckedGateway,
  after: CheckedGateway,
): GatewayOverrides {
  const differs = (one: CompleteLimits | undefined, other: CompleteLimits | undefined) =>
    differenceOf(one ?? NO_LIMITS, other ?? NO_LIMITS).length > 0;
  const routes = (config: CheckedGateway) =>
    new Map(config.routes.map(({ id, limits }) => [id, limits]));
  const [routesBefore, routesAfter] = [routes(before), routes(after)];
  const { server, ...rest } = overrides;
  const keepsServer = server !== undefined && !differs(before.server, after.server);
  return {
    ...rest,
    ...(keepsServer ? { server } : {}),
    backends: keep(
      overrides.backends,
      (name) => !differs(before.backends.get(name), after.backends.get(name)),
    ),
    routes: keep(overrides.routes, (id) => !differs(routesBefore.get(id), routesAfter.get(id))),
  };
}

function keep<T>(record: Readonly<Record<string, T>>, wanted: (key: string) => boolean) {
  return Object.fromEntries(Object.entries(record).filter(([key]) => wanted(key)));
}

function unknown(what: string, name: string, known: Iterable<string>): InvalidGatewayConfigError {
  const names = [...known].slice(0, 20).map((one) => `"${one}"`);
  return new InvalidGatewayConfigError(
    `There is no ${what} "${name}". Known: ${names.join(', ') || 'none'}.`,
  );
}
