import type { Visit } from '../connections/gateway-answer.js';
import type { Level } from './level-limit.js';
import type { GatewayMatch } from '../routes/gateway-match.js';
import { NO_MATCH } from '../routes/gateway-match.js';
import type { GatewayState, Prepared } from './gateway-state.js';
import { routeIn, unknownName } from './unknown-name.js';

/** A request to decide on. */
export interface GatewayTarget {
  /** The route of the request; without one, only the server's limits and those of the backend count. */
  readonly routeId?: string | undefined;
  /**
   * The name of the backend that it goes to.
   * @default the backend of the route
   */
  readonly backend?: string | undefined;
  /** The address of the client. */
  readonly clientIp: string;
}

/** Completes a target. Throws for a route or backend that does not exist. */
export function visitOf(
  { routeId, backend, clientIp }: GatewayTarget,
  state: GatewayState,
  keyOfClient: (clientIp: string) => string,
): Visit {
  return { ...destinationIn(state, routeId, backend), clientIp: keyOfClient(clientIp) };
}

function destinationIn(state: GatewayState, routeId?: string, backend?: string): GatewayMatch {
  if (backend !== undefined && !state.config.backends.has(backend)) {
    throw unknownName('backend', backend, state.config.backends.keys());
  }
  if (routeId === undefined) return { ...NO_MATCH, backend: backend ?? '' };
  return { routeId, backend: backend ?? routeIn(state, routeId).route.backend };
}

/** The limits among which those of a level are; `id` is a route, a backend or a client. */
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
