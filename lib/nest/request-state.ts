import type { RequestSource } from '../core/keys/key-resolver.js';
import type { Lease } from '../core/lease.js';
import type { HandlerChains } from './handler-chains.js';
import type { ToldHeaders } from './rate-limit-headers.js';
import { newToldHeaders } from './rate-limit-headers.js';
import type { SlotHold } from './slots/slot-hold.js';

/** What is known of a request after the first enforcement point has seen it. */
export interface RequestState extends ToldHeaders {
  /** The handler whose chains were enforced last in each phase, so that none is charged twice. */
  guard: HandlerChains | undefined;
  interceptor: HandlerChains | undefined;
  /** What the request was charged so far. */
  leases: Lease[] | undefined;
  /** The slots that it was lent; undefined when there are none. */
  slots: SlotHold[] | undefined;
  /** Whether somebody wants to know how the request ends. */
  isWatched: boolean;
  /** What its handler threw, if it is watched. */
  error: unknown;
}

const STATE = Symbol('nestjs-floodgate:request');
const TOLD = Symbol('nestjs-floodgate:told');

/** A request as a gateway before the application has left it. */
interface ToldRequest {
  [TOLD]?: ToldHeaders;
}

/** A request that may have been seen. */
export type LimitedRequest = RequestSource &
  ToldRequest & {
    [STATE]?: RequestState;
    /** Fastify wraps the request that its middleware sees. */
    readonly raw?: ToldRequest | null;
  };

/** Remembers what a gateway has told, so that the application adds to it. */
export function rememberTold(request: object, told: ToldHeaders): void {
  (request as ToldRequest)[TOLD] = told;
}

/** What is known of a request; undefined when it was never limited. */
export function knownState(request: LimitedRequest | undefined): RequestState | undefined {
  return request?.[STATE];
}

/** What is known of a request that is limited. */
export function stateOf(request: LimitedRequest): RequestState {
  return (request[STATE] ??= newState(request[TOLD] ?? request.raw?.[TOLD]));
}

/** `X-RateLimit-*` has room for one limit: that of the application, where it has one. */
function newState({ policy, state } = newToldHeaders()): RequestState {
  return {
    guard: undefined,
    interceptor: undefined,
    leases: undefined,
    slots: undefined,
    isWatched: false,
    error: undefined,
    policy,
    state,
    legacyRemaining: Number.POSITIVE_INFINITY,
  };
}
