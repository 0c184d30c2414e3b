/** A change of limits while running. */
export interface GatewayChange {
  /** Where the limits changed. */
  readonly level: 'server' | 'backend' | 'route';
  /** The name of the backend or the id of the route; '' for the server. */
  readonly id: string;
  /** What changed, as `maxQps 10 → 20`. */
  readonly difference: readonly string[];
  /** Connections that are open although the new limit is lower: they stay until they end. */
  readonly tooManyConnections: number;
}

/** What happens, by the name of the event. */
export interface GatewayEvents {
  /** Limits were changed, by this process or another. */
  change: [GatewayChange];
}
