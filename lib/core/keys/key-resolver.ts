import type { Awaitable } from '../awaitable.js';

/**
 * Where a limit is enforced: by the guard, before authentication, or by the interceptor, after it.
 */
export type Phase = 'guard' | 'interceptor';

/** What the resolvers of this package read of a request; Express and Fastify both have it. */
export interface RequestSource {
  /** The address of the client, as the platform tells it. */
  readonly ip?: string | undefined;
  /** Where the address is when there is no `ip`. */
  readonly socket?: { readonly remoteAddress?: string | undefined } | null | undefined;
  /** The headers, by their names in lower case. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>> | undefined;
  /** Who was authenticated. */
  readonly user?: unknown;
  /** The parsed body, or the payload of a message. */
  readonly body?: unknown;
  /** The parameters of the query string. */
  readonly query?: unknown;
  /** The parameters of the route. */
  readonly params?: unknown;
}

/** A part of a request that a resolver reads. */
export type RequestPart = 'address' | 'headers' | 'user' | 'body' | 'query' | 'param';

/** What a resolver may find. Null, undefined, blank text and anything that has no text is nothing. */
export type KeyValue = string | number | bigint | object | null | undefined;

/** Finds whom a request counts for. */
export interface KeyResolver {
  /**
   * Stands before what was found, so that the address `7` and the user `7` are two subjects. Empty
   * only for a resolver that returns whole keys.
   */
  readonly prefix: string;
  /** Since when it can be known: `guard` on arrival, `interceptor` once the guards have run. */
  readonly phase: Phase;
  /**
   * The parts of the request that it reads, if it tells: a key that cannot be found is then told at
   * start. An empty list is a resolver that counts everybody together.
   */
  readonly reads?: readonly RequestPart[] | undefined;
  /** What the request says, or nothing. */
  resolve(request: RequestSource, context?: unknown): Awaitable<KeyValue>;
}

/** The key of a request, or undefined when the resolver found nothing. */
export function resolveKey(
  resolver: KeyResolver,
  request: RequestSource,
  context?: unknown,
): Awaitable<string | undefined> {
  const value = resolver.resolve(request, context);
  return isThenable(value)
    ? Promise.resolve(value).then((found) => keyOf(resolver.prefix, found))
    : keyOf(resolver.prefix, value);
}

function keyOf(prefix: string, value: KeyValue): string | undefined {
  const text = textOf(value);
  if (text === undefined || text.trim() === '') return undefined;
  return prefix === '' ? text : `${prefix}:${text}`;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isNaN(value) ? undefined : String(value);
  if (typeof value === 'bigint') return String(value);
  // An id may be an object that writes itself, as those of MongoDB do. One that does not would be
  // "[object Object]" for everybody.
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const { toString } = value as { toString?: () => unknown };
  if (typeof toString !== 'function' || toString === Object.prototype.toString) return undefined;
  return String(toString.call(value));
}

function isThenable(value: Awaitable<KeyValue>): value is Promise<KeyValue> {
  return typeof (value as PromiseLike<KeyValue> | null | undefined)?.then === 'function';
}
