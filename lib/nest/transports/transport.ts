import type { ExecutionContext, Type } from '@nestjs/common';
import type { KeyResolver, RequestPart, RequestSource } from '../../core/keys/key-resolver.js';
import type { Lease } from '../../core/lease.js';
import type { HandlerChains } from '../handler-chains.js';
import type { Refusal } from './refusal.js';
import type { Run, Till } from './till.js';

/**
 * A way to handlers other than HTTP: whose request it is there, what several handlers share, and what
 * a refusal looks like.
 */
export interface Transport {
  /** Whether Nest reaches this method of this class by it. */
  handles(controller: Type, handler: Function): boolean;
  /** What the start-up log calls such a handler: "GraphQL field", for one. */
  handlerNameOf(handler: Function): string;
  /** Whether requests for a handler may have what a resolver reads. */
  mayFind(resolver: KeyResolver, handler: Function): boolean;
  /** Loads what a refusal needs. Throws when that is not installed. */
  prepare(): Promise<void>;
  /** What key resolvers and functions of the request are given. */
  requestOf(context: ExecutionContext): RequestSource;
  /** What to throw so that the caller is told. */
  refuse(refusal: Refusal): Promise<Error>;
  /** Takes note of a limited handler. Returns whether Nest lets its chains be enforced. */
  add?(controller: Type, handler: Function, chains: HandlerChains): boolean;
  /** What to do about handlers that Nest does not let be limited; undefined when there are none. */
  readonly warning?: string | undefined;
  /** Pays what a run owes, where one request runs several handlers; undefined for nothing. */
  settle?(run: Run, till: Till): Promise<Lease | undefined>;
  /** Tells the caller its limits, where there is a way to. */
  tell?(context: ExecutionContext, lease: Lease): void;
}

/** What functions of the request are given for a message, in the place of an HTTP request. */
export interface MessageRequest extends RequestSource {
  /** What was sent. Only functions of your own look at it. */
  readonly data: unknown;
}

/** Whether a resolver reads one of these parts, or does not tell what it reads. */
export function readsOneOf(parts: readonly RequestPart[], { reads = [] }: KeyResolver): boolean {
  return reads.length === 0 || reads.some((part) => parts.includes(part));
}
