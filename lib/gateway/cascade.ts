import { UNLIMITED } from '../core/plan.js';
import type { CompleteLimits } from './gateway-config.js';

/** Where a value came from. */
export type LimitSource = 'route' | 'backend' | 'server' | 'none';

/** A limit of clients, and the level that it came from: clients are counted within that level. */
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

/** What clients may do: the route's word, else the backend's, else the server's, else anything. */
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
