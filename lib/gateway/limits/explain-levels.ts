import type { CheckedGateway } from '../config/check-gateway-config.js';
import type { GatewayOverrides } from '../updates/gateway-overrides.js';
import { own } from '../updates/gateway-overrides.js';
import type { LevelLimits } from '../config/gateway-config.js';

/** The limits of one level, and whether they were changed while running. */
export interface LevelExplanation {
  /** Where the limits stand. */
  readonly level: 'server' | 'backend' | 'route';
  /** The name of the backend or the id of the route; '' for the server. */
  readonly id: string;
  /** What the level allows, every default filled in. */
  readonly limits: Required<LevelLimits>;
  /** Whether an update changed them, in this or another process. */
  readonly isUpdated: boolean;
}

/** Returns the limits of every level, the server's first. */
export function explainLevels(
  { server, backends, routes }: CheckedGateway,
  overrides: GatewayOverrides,
): LevelExplanation[] {
  return [
    { level: 'server', id: '', limits: server, isUpdated: overrides.server !== undefined },
    ...[...backends].map(([id, limits]): LevelExplanation => {
      const isUpdated = own(overrides.backends, id) !== undefined;
      return { level: 'backend', id, limits, isUpdated };
    }),
    ...routes.map(({ id, limits }): LevelExplanation => {
      const isUpdated = own(overrides.routes, id) !== undefined;
      return { level: 'route', id, limits, isUpdated };
    }),
  ];
}
