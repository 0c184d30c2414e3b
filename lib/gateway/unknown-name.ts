import { listKnown, quote } from '../core/errors.js';
import { InvalidGatewayConfigError } from './gateway-config.js';
import type { GatewayState, PreparedRoute } from './gateway-state.js';

/** The error for a route or backend that is not there. */
export function unknown(
  what: 'route' | 'backend',
  name: string,
  known: Iterable<string>,
): InvalidGatewayConfigError {
  return new InvalidGatewayConfigError(
    `There is no ${what} ${quote(name)}. ${listKnown(`${what}s`, [...known])}`,
  );
}

/** The route of that id; throws where there is none. */
export function routeIn(state: GatewayState, id: string): PreparedRoute {
  const route = state.route(id);
  if (route) return route;
  throw unknown(
    'route',
    id,
    state.config.routes.map((one) => one.id),
  );
}
