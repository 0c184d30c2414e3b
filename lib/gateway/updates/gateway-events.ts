/** A change of limits while running. */
export interface GatewayChange {
  /** The level whose limits changed. */
  readonly level: 'server' | 'backend' | 'route';
  /** The name of the backend or the id of the route; '' for the server. */
  readonly id: string;
  /** What changed, such as `maxQps 10 → 20`. */
  readonly difference: readonly string[];
  /** How many open connections exceed the new limit. They stay until they end. */
  readonly tooManyConnections: number;
}

/** Arguments of events, by the name of the event. */
export interface GatewayEvents {
  /** The limits of a level were changed, by this process or another. */
  change: [GatewayChange];
}
