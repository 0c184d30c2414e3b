import { listKnown, quote } from '../../core/errors.js';
import { InvalidGatewayConfigError } from '../config/gateway-config.js';
import type { GatewayState, PreparedRoute } from './gateway-state.js';

/** The error for a route or backend that does not exist. */
export function unknownName(
  what: 'route' | 'backend',
  name: string,
  known: Iterable<string>,
): InvalidGatewayConfigError {
  return new InvalidGatewayConfigError(
    `There is no ${what} ${quote(name)}. ${listKnown(`${what}s`, [...known])}`,
  );
}

/** The route with an id. Throws if there is none. */
export function routeIn(state: GatewayState, id: string): PreparedRoute {
  const route = state.route(id);
  if (route) return route;
  throw unknownName(
    'route',
    id,
    state.config.routes.map((one) => one.id),
  );
}
