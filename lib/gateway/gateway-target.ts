import type { Visit } from './gateway-answer.js';
import type { Level } from './gateway-levels.js';
import type { Destination, GatewayState, Prepared } from './gateway-state.js';
import { routeIn, unknown } from './unknown-name.js';

/** Who asks for what. */
export interface GatewayTarget {
  /** The route of the request; without one, only the server's limits and those of the backend count. */
  readonly routeId?: string | undefined;
  /**
   * Where it goes.
   * @default the backend of the route
   */
  readonly backend?: string | undefined;
  /** The address of the client. */
  readonly clientIp: string;
}

/** Where a request goes. */
export interface GatewayMatch {
  /** The id of the route. */
  readonly routeId: string;
  /** The name of its backend. */
  readonly backend: string;
}

/** Where a request goes, as far as its path tells. */
export interface GatewayPlace {
  /** Undefined when it is on no route. */
  readonly match: GatewayMatch | undefined;
  /** Whether servers would read the path differently, and so find different routes. */
  readonly isAmbiguous: boolean;
}

/** Who goes where; throws for a route or backend that is not there. */
export function visitOf(
  { routeId, backend, clientIp }: GatewayTarget,
  state: GatewayState,
  keyOfClient: (clientIp: string) => string,
): Visit {
  return { ...destinationIn(state, routeId, backend), clientIp: keyOfClient(clientIp) };
}

function destinationIn(state: GatewayState, routeId?: string, backend?: string): Destination {
  if (backend !== undefined && !state.config.backends.has(backend)) {
    throw unknown('backend', backend, state.config.backends.keys());
  }
  if (routeId === undefined) return { routeId: '', backend: backend ?? '' };
  return { routeId, backend: backend ?? routeIn(state, routeId).route.backend };
}

/** The limits of a level, of which `id` is a route, a backend or a client. */
export function preparedIn(
  state: GatewayState,
  level: Level,
  id: string,
  routeId: string | undefined,
): Prepared {
  if (level === 'route') return routeIn(state, id);
  if (level === 'backend') return state.preparedFor(destinationIn(state, undefined, id));
  return state.preparedFor(destinationIn(state, routeId));
}
