import type { ExecutionContext, Type } from '@nestjs/common';
import type { RequestSource } from '../../core/keys/key-resolver.js';
import type { Lease } from '../../core/lease.js';
import type { OperationBill } from './operation-bill.js';
import type { Refusal } from './refusal.js';

/**
 * A way to handlers other than HTTP: whose request it is there, what several handlers share, and what
 * a refusal looks like.
 */
export interface Transport {
  /** Whether Nest reaches this method of this class by it. */
  handles(controller: Type, handler: Function): boolean;
  /** What the start-up log calls such a handler: "GraphQL field", for one. */
  handlerNameOf(handler: Function): string;
  /** Loads what a refusal needs. Throws when that is not installed. */
  prepare(): Promise<void>;
  /** What key resolvers and functions of the request are given. */
  requestOf(context: ExecutionContext): RequestSource;
  /** What to throw so that the caller is told. */
  refuse(refusal: Refusal): Promise<Error>;
  /** What was paid so far, where one request runs several handlers. */
  billOf?(context: ExecutionContext): OperationBill | undefined;
  /** Tells the caller its limits, where there is a way to. */
  tell?(context: ExecutionContext, lease: Lease): void;
}

/** What functions of the request are given for a message, in the place of an HTTP request. */
export interface MessageRequest extends RequestSource {
  /** What was sent. Only functions of your own look at it. */
  readonly data: unknown;
}
