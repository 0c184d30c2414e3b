import { createHmac, hash } from 'node:crypto';
import { InvalidOptionError } from '../errors.js';
import type { KeyResolver, RequestSource } from './key-resolver.js';

const HEADER_NAME = /^[!#$%&'*+.^_`|~\w-]+$/;
/** 22 characters of base64url are 132 bits: no two values meet. */
const DIGEST_LENGTH = 22;

/**
 * Counts by the value of a header, such as an API key. Values are taken for secrets: only their
 * hash goes on from here. Until the value was authenticated a caller can invent new ones, so put a
 * limit by address beside it.
 */
export class HeaderKeyResolver implements KeyResolver {
  readonly prefix: string;
  readonly phase = 'guard';
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
    return this.#digest(text).slice(0, DIGEST_LENGTH);
  }

  #digest(text: string): string {
    return this.secret === undefined
      ? hash('sha256', text, 'base64url')
      : createHmac('sha256', this.secret).update(text).digest('base64url');
  }
}
