import { InvalidOptionError } from '../errors.js';
import { digestOf } from './digest.js';
import type { KeyResolver, RequestSource } from './key-resolver.js';

const HEADER_NAME = /^[!#$%&'*+.^_`|~\w-]+$/;

/**
 * Counts by the value of a header, such as an API key. Values are taken for secrets: only their
 * hash goes on from here. Until the value was authenticated a caller can invent new ones, so put a
 * limit by address beside it.
 */
export class HeaderKeyResolver implements KeyResolver {
  readonly prefix: string;
  readonly phase = 'guard';
  readonly reads = ['headers'] as const;
  readonly #header: string;

  /** With a `secret` the hash is keyed, so that values that can be guessed stay hidden as well. */
  constructor(
    header: string,
    private readonly secret?: string,
  ) {
    if (!HEADER_NAME.test(header)) {
      throw new InvalidOptionError(
        'key',
        'the name of a header, such as "header:x-api-key"',
        header,
      );
    }
    this.#header = header.toLowerCase();
    this.prefix = `header:${this.#header}`;
  }

  resolve({ headers }: RequestSource): string | undefined {
    const value = headers?.[this.#header];
    const text = Array.isArray(value) ? value.join(', ') : value;
    if (text === undefined || text.trim() === '') return undefined;
    return digestOf(text, this.secret);
  }
}
