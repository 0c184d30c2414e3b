import type { RequestSource } from '../core/keys/key-resolver.js';
import type { Lease } from '../core/lease.js';
import type { HandlerChains } from './handler-chains.js';
import type { ToldHeaders } from './rate-limit-headers.js';

/** What is known of a request after the first enforcement point has seen it. */
export interface RequestState extends ToldHeaders {
  /** The handler whose chains were enforced last in each phase, so that none is charged twice. */
  guard: HandlerChains | undefined;
  interceptor: HandlerChains | undefined;
  /** What the request was charged so far. */
  leases: Lease[] | undefined;
  /** Whether somebody wants to know how the request ends. */
  isWatched: boolean;
  /** What its handler threw, if it is watched. */
  error: unknown;
}

const STATE = Symbol('nestjs-floodgate:request');

/** A request that may have been seen. */
export type LimitedRequest = RequestSource & { [STATE]?: RequestState };

/** What is known of a request; undefined when it was never limited. */
export function knownState(request: LimitedRequest | undefined): RequestState | undefined {
  return request?.[STATE];
}

/** What is known of a request that is limited. */
export function stateOf(request: LimitedRequest): RequestState {
  return (request[STATE] ??= {
    guard: undefined,
    interceptor: undefined,
    leases: undefined,
    isWatched: false,
    error: undefined,
    policy: '',
    state: '',
    legacyRemaining: Number.POSITIVE_INFINITY,
  });
}
