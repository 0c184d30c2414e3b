import { UNLIMITED } from '../../core/plan.js';
import type { CompleteLimits } from '../config/gateway-config.js';

/** The level that sets a value. */
export type LimitSource = 'route' | 'backend' | 'server' | 'none';

/** A limit of each client, and the level that sets it: clients are counted within that level. */
export interface ClientLimit {
  readonly value: number;
  readonly source: LimitSource;
}

/** What each client of a route may do. */
export interface ClientLimits {
  readonly maxQps: ClientLimit;
  readonly maxConnections: ClientLimit;
}

const NO_LIMIT: ClientLimit = Object.freeze({ value: UNLIMITED, source: 'none' });

/** The limits of each client: those of the route, else of the backend, else of the server, else none. */
export function cascade(
  route: CompleteLimits,
  backend: CompleteLimits,
  server: CompleteLimits,
): ClientLimits {
  const closest = (field: 'maxQpsPerClient' | 'maxConnectionsPerClient'): ClientLimit => {
    if (route[field] !== UNLIMITED) return { value: route[field], source: 'route' };
    if (backend[field] !== UNLIMITED) return { value: backend[field], source: 'backend' };
    if (server[field] !== UNLIMITED) return { value: server[field], source: 'server' };
    return NO_LIMIT;
  };
  return {
    maxQps: closest('maxQpsPerClient'),
    maxConnections: closest('maxConnectionsPerClient'),
  };
}
