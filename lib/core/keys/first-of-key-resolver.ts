import type { Awaitable } from '../awaitable.js';
import { isPending } from '../awaitable.js';
import type { KeyResolver, Phase, RequestPart, RequestSource } from './key-resolver.js';
import { resolveKey } from './key-resolver.js';

/** Asks one resolver after another and takes the first answer. */
export class FirstOfKeyResolver implements KeyResolver {
  readonly prefix = '';
  readonly phase: Phase;
  readonly reads: readonly RequestPart[] | undefined;

  constructor(private readonly resolvers: readonly KeyResolver[]) {
    const late = resolvers.some(({ phase }) => phase === 'interceptor');
    this.phase = late ? 'interceptor' : 'guard';
    // One that does not tell, or that reads nothing, may always find something.
    const parts = resolvers.map(({ reads = [] }) => reads);
    this.reads = parts.some(({ length }) => length === 0) ? undefined : parts.flat();
  }

  resolve(request: RequestSource, context?: unknown): Awaitable<string | undefined> {
    return this.#askFrom(0, request, context);
  }

  #askFrom(index: number, request: RequestSource, context: unknown): Awaitable<string | undefined> {
    const resolver = this.resolvers[index];
    if (!resolver) return undefined;
    const key = resolveKey(resolver, request, context);
    return isPending(key)
      ? key.then((found) => found ?? this.#askFrom(index + 1, request, context))
      : (key ?? this.#askFrom(index + 1, request, context));
  }
}
