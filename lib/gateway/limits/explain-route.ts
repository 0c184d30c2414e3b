import { UNLIMITED } from '../../core/plan.js';
import type { LimitSource } from './cascade.js';
import type { CompleteLimits, LevelLimits } from '../config/gateway-config.js';
import type { Level } from './level-limit.js';
import type { GatewayState } from './gateway-state.js';
import { routeIn } from './unknown-name.js';

/** The effective limits of a route, and which level sets each of them. */
export interface RouteExplanation {
  /** The route that is explained. */
  readonly routeId: string;
  /** The backend of the route. */
  readonly backend: string;
  /** Every limit of the route, with the level that set it. */
  readonly values: readonly {
    readonly level: Level;
    readonly limit: keyof LevelLimits;
    readonly value: number;
    readonly source: LimitSource;
  }[];
}

/** Explains which level sets each effective limit of a route. */
export function explainRoute(state: GatewayState, routeId: string): RouteExplanation {
  const { route, client } = routeIn(state, routeId);
  return {
    routeId,
    backend: route.backend,
    values: [
      ...ownValues('server', state.config.server),
      ...ownValues('route', route.limits),
      ...ownValues('backend', state.limitsOf(route.backend)),
      { level: 'client', limit: 'maxQpsPerClient', ...client.maxQps },
      { level: 'client', limit: 'maxConnectionsPerClient', ...client.maxConnections },
    ],
  };
}

function ownValues(level: 'server' | 'route' | 'backend', limits: CompleteLimits) {
  return (['maxQps', 'maxConnections'] as const).map((limit) => ({
    level,
    limit,
    value: limits[limit],
    source: limits[limit] === UNLIMITED ? ('none' as const) : level,
  }));
}
