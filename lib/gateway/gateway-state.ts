import type { ClientLimits, LimitSource } from './cascade.js';
import { cascade } from './cascade.js';
import type { CheckedGateway, CheckedRoute } from './check-gateway-config.js';
import type { CompleteLimits } from './gateway-config.js';
import { NO_LIMITS } from './gateway-config.js';
import type { Level, LevelLimit, Resource } from './gateway-levels.js';
import { levelLimit } from './gateway-levels.js';
import type { RoutePlace } from './route-table.js';
import { RouteTable } from './route-table.js';

/** From which change on requests are counted: another number begins at zero. */
export interface GatewayEpochs {
  readonly server: number;
  readonly routes: number;
  readonly clients: number;
}

/** Which route a request is on, and where it goes; '' for none. */
export interface Destination {
  readonly routeId: string;
  readonly backend: string;
}

/** All that is to be asked for a destination, each list in the order in which it is told. */
export interface Prepared {
  readonly client: ClientLimits;
  readonly limits: readonly LevelLimit[];
  readonly qps: readonly LevelLimit[];
  readonly connections: readonly LevelLimit[];
}

/** A route with all that is to be asked for it. */
export interface PreparedRoute extends Prepared {
  readonly route: CheckedRoute;
}

/**
 * What a gateway limits at one moment. Folded when it is made, so that a request only looks up; never
 * changes: other limits are another object.
 */
export class GatewayState {
  readonly #routes = new Map<string, PreparedRoute>();
  /** What is asked for requests on no route, by backend; '' for none. */
  readonly #unrouted = new Map<string, Prepared>();
  readonly #routeLimits = new Map<string, CompleteLimits>();
  /** Made when they are first needed: how paths are compared is known once the server listens. */
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

  /** What is asked anywhere; a limit that several destinations share occurs for each of them. */
  *limits(): Iterable<LevelLimit> {
    for (const { limits } of this.#routes.values()) yield* limits;
    for (const { limits } of this.#unrouted.values()) yield* limits;
  }

  route(id: string): PreparedRoute | undefined {
    return this.#routes.get(id);
  }

  /** The place of a request among the routes. */
  find(host: string | undefined, target: string, caseSensitive: boolean): RoutePlace {
    return this.#table(caseSensitive).find(host, target);
  }

  /** What is to be asked; a route or backend that is not there any more limits nothing. */
  preparedFor(to: Destination): Prepared {
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

  #prepare(to: Destination): Prepared {
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

  /**
   * Requests are counted from zero in another epoch; connections that are open stay open, and so
   * counted, whatever changes.
   */
  #limit(level: Level, resource: Resource, value: number, scope: string): LevelLimit | undefined {
    const { server, routes: route, clients: client } = this.epochs;
    const epoch = { server, route, backend: 0, client }[level];
    const key = resource === 'qps' ? `${level}/${epoch}/${scope}` : `${level}/${scope}`;
    const id = level === 'client' ? '' : scope;
    const quota = { value, key, id, leaseMs: this.config.connectionLeaseMs };
    return levelLimit({ level, resource }, quota);
  }
}

/** Clients are counted within the level that their limit came from. The length keeps names apart. */
function clientScope(source: LimitSource, { routeId, backend }: Destination): string {
  if (source === 'route') return `route/${routeId.length}/${routeId}/`;
  return source === 'backend' ? `backend/${backend.length}/${backend}/` : 'server/';
}
