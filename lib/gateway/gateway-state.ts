import type { ClientLimits, LimitSource } from './cascade.js';
import { cascade } from './cascade.js';
import type { CheckedGateway, CheckedRoute } from './check-gateway-config.js';
import type { CompleteLimits } from './gateway-config.js';
import { NO_LIMITS } from './gateway-config.js';
import type { LevelLimit } from './gateway-levels.js';
import { clientLimits, levelLimit } from './gateway-levels.js';
import { RouteTable } from './route-table.js';

/** Which counters count: another number begins anew. */
export interface GatewayEpochs {
  readonly server: number;
  readonly routes: number;
  readonly clients: number;
}

/** A route with all that is to be asked for it. */
export interface PreparedRoute {
  readonly route: CheckedRoute;
  readonly client: ClientLimits;
  /** In the order in which they are told. */
  readonly limits: readonly LevelLimit[];
}

/**
 * What a gateway limits at one moment. Folded when it is made, so that a request only looks up; never
 * changes: other limits are another object.
 */
export class GatewayState {
  readonly #routes = new Map<string, PreparedRoute>();
  readonly #table: RouteTable;

  constructor(
    readonly config: CheckedGateway,
    readonly epochs: GatewayEpochs,
  ) {
    this.#table = new RouteTable(config.routes);
    for (const route of config.routes) this.#routes.set(route.id, this.#prepare(route));
  }

  get routes(): Iterable<PreparedRoute> {
    return this.#routes.values();
  }

  route(id: string): PreparedRoute | undefined {
    return this.#routes.get(id);
  }

  match(host: string | undefined, path: string): PreparedRoute | undefined {
    const route = this.#table.match(host, path);
    return route && this.#routes.get(route.id);
  }

  /** Whether servers would read the path differently, and so find different routes. */
  isAmbiguous(host: string | undefined, path: string): boolean {
    return this.#table.isAmbiguous(host, path);
  }

  /** The limits of a request that is on no route, or names its backend itself. */
  prepareFor(routeId: string | undefined, backend: string | undefined): PreparedRoute {
    const known = routeId === undefined ? undefined : this.#routes.get(routeId);
    if (known && (backend === undefined || backend === known.route.backend)) return known;
    const id = routeId ?? '';
    const limits = known?.route.limits ?? NO_LIMITS;
    return this.#prepare({ id, host: '*', path: '/', backend: backend ?? '', limits });
  }

  limitsOf(backend: string): CompleteLimits {
    return this.config.backends.get(backend) ?? NO_LIMITS;
  }

  #prepare(route: CheckedRoute): PreparedRoute {
    const { id, limits } = route;
    const { server } = this.config;
    const backend = this.limitsOf(route.backend);
    const client = cascade(limits, backend, server);
    const keys = this.#keysOf(route);
    const shared = [
      levelLimit('server', 'qps', server.maxQps, keys.serverQps),
      levelLimit('server', 'connections', server.maxConnections, keys.server),
      ...(id === '' ? [] : levelPair('route', limits, keys.route)),
      ...(route.backend === '' ? [] : levelPair('backend', backend, keys.backend)),
    ].filter((limit) => limit !== undefined);
    return { route, client, limits: [...shared, ...clientLimits(client, keys.client)] };
  }

  #keysOf({ id, backend }: CheckedRoute) {
    const { server, routes, clients } = this.epochs;
    const scopes: Readonly<Record<LimitSource, string>> = {
      route: `route ${id}`,
      backend: `backend ${backend}`,
      server: 'server',
      none: '',
    };
    return {
      server: 'server',
      serverQps: `server ${server}`,
      route: `route ${routes} ${id}`,
      backend: `backend ${backend}`,
      client: (source: LimitSource) => `client ${clients} ${scopes[source]} `,
    };
  }
}

function levelPair(level: 'route' | 'backend', limits: CompleteLimits, key: string) {
  return [
    levelLimit(level, 'qps', limits.maxQps, key),
    levelLimit(level, 'connections', limits.maxConnections, key),
  ];
}
