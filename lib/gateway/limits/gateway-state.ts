import type { ClientLimits, LimitSource } from './cascade.js';
import { cascade } from './cascade.js';
import type { CheckedGateway, CheckedRoute } from '../config/check-gateway-config.js';
import type { CompleteLimits } from '../config/gateway-config.js';
import { NO_LIMITS } from '../config/gateway-config.js';
import type { Level, LevelLimit, Resource } from './level-limit.js';
import { levelLimit } from './level-limit.js';
import type { GatewayMatch } from '../routes/gateway-match.js';
import type { RoutePlace } from '../routes/route-table.js';
import { RouteTable } from '../routes/route-table.js';

/** Numbers that are part of the keys of counters: with another number, requests are counted from zero. */
export interface GatewayEpochs {
  readonly server: number;
  readonly routes: number;
  readonly clients: number;
}

/** The limits of a route and backend, each list in the order in which they are reported. */
export interface Prepared {
  readonly client: ClientLimits;
  readonly limits: readonly LevelLimit[];
  readonly qps: readonly LevelLimit[];
  readonly connections: readonly LevelLimit[];
}

/** A route with its limits. */
export interface PreparedRoute extends Prepared {
  readonly route: CheckedRoute;
}

/**
 * What a gateway limits at one moment. Everything is computed when it is made, so that a request only
 * looks it up. It never changes: other limits are another object.
 */
export class GatewayState {
  readonly #routes = new Map<string, PreparedRoute>();
  /** The limits of requests on no route, by backend; '' for no backend. */
  readonly #unrouted = new Map<string, Prepared>();
  readonly #routeLimits = new Map<string, CompleteLimits>();
  /** Made on first use: how paths are compared is known once the server listens. */
  #anyCase: RouteTable | undefined;
  #caseSensitive: RouteTable | undefined;

  constructor(
    readonly config: CheckedGateway,
    readonly epochs: GatewayEpochs,
  ) {
    for (const { id, limits } of config.routes) this.#routeLimits.set(id, limits);
    for (const route of config.routes) {
      const { id: routeId, backend } = route;
      this.#routes.set(routeId, { route, ...this.#prepare({ routeId, backend }) });
    }
    for (const backend of ['', ...config.backends.keys()]) {
      this.#unrouted.set(backend, this.#prepare({ routeId: '', backend }));
    }
  }

  get routes(): Iterable<PreparedRoute> {
    return this.#routes.values();
  }

  /** All limits. One that several routes share occurs for each of them. */
  *limits(): Iterable<LevelLimit> {
    for (const { limits } of this.#routes.values()) yield* limits;
    for (const { limits } of this.#unrouted.values()) yield* limits;
  }

  route(id: string): PreparedRoute | undefined {
    return this.#routes.get(id);
  }

  /** Finds the route of a request. */
  find(host: string | undefined, target: string, caseSensitive: boolean): RoutePlace {
    return this.#table(caseSensitive).find(host, target);
  }

  /** The limits of a request. A route or backend that was removed limits nothing. */
  preparedFor(to: GatewayMatch): Prepared {
    const route = this.#routes.get(to.routeId);
    if (route?.route.backend === to.backend) return route;
    const unrouted = route ? undefined : this.#unrouted.get(to.backend);
    return unrouted ?? this.#prepare(to);
  }

  limitsOf(backend: string): CompleteLimits {
    return this.config.backends.get(backend) ?? NO_LIMITS;
  }

  #table(caseSensitive: boolean): RouteTable {
    const { routes } = this.config;
    if (!caseSensitive) return (this.#anyCase ??= new RouteTable(routes));
    return (this.#caseSensitive ??= new RouteTable(routes, { caseSensitive }));
  }

  #prepare(to: GatewayMatch): Prepared {
    const { server } = this.config;
    const route = this.#routeLimits.get(to.routeId) ?? NO_LIMITS;
    const backend = this.limitsOf(to.backend);
    const client = cascade(route, backend, server);
    const { maxQps, maxConnections } = client;
    const limits = [
      ...this.#pair('server', server, ''),
      ...this.#pair('route', route, to.routeId),
      ...this.#pair('backend', backend, to.backend),
      this.#limit('client', 'qps', maxQps.value, clientScope(maxQps.source, to)),
      this.#limit(
        'client',
        'connections',
        maxConnections.value,
        clientScope(maxConnections.source, to),
      ),
    ].filter((limit) => limit !== undefined);
    return {
      client,
      limits,
      qps: limits.filter(({ resource }) => resource === 'qps'),
      connections: limits.filter(({ resource }) => resource === 'connections'),
    };
  }

  #pair(level: Level, { maxQps, maxConnections }: CompleteLimits, scope: string) {
    return [
      this.#limit(level, 'qps', maxQps, scope),
      this.#limit(level, 'connections', maxConnections, scope),
    ];
  }

  /** Requests are counted from zero in another epoch. Open connections stay counted in any case. */
  #limit(level: Level, resource: Resource, value: number, scope: string): LevelLimit | undefined {
    const { server, routes: route, clients: client } = this.epochs;
    const epoch = { server, route, backend: 0, client }[level];
    const key = resource === 'qps' ? `${level}/${epoch}/${scope}` : `${level}/${scope}`;
    const id = level === 'client' ? '' : scope;
    const quota = { value, key, id, leaseMs: this.config.connectionLeaseMs };
    return levelLimit({ level, resource }, quota);
  }
}

/** Clients are counted within the level that sets their limit. The length keeps names apart. */
function clientScope(source: LimitSource, { routeId, backend }: GatewayMatch): string {
  if (source === 'route') return `route/${routeId.length}/${routeId}/`;
  return source === 'backend' ? `backend/${backend.length}/${backend}/` : 'server/';
}
