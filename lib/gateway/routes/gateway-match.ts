/** Where a request goes. */
export interface GatewayMatch {
  /** The id of the route; '' if the request is on none. */
  readonly routeId: string;
  /** The name of its backend; '' if none is known. */
  readonly backend: string;
}

/** Where a request goes, as far as its path says. */
export interface GatewayPlace {
  /** Undefined if the request is on no route. */
  readonly match: GatewayMatch | undefined;
  /** Whether servers read the path differently, and so find different routes. */
  readonly isAmbiguous: boolean;
}

/** The place of a request that is on no route. */
export const NO_MATCH: GatewayMatch = Object.freeze({ routeId: '', backend: '' });
