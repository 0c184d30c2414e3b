import { InvalidOptionError } from '../errors.js';
import { digestOf } from './digest.js';
import type { KeyResolver, RequestSource } from './key-resolver.js';

/** Where a field is: in the body, the query string or the parameters of the route. */
export type FieldPlace = 'body' | 'query' | 'param';

const SOURCES = { body: 'body', query: 'query', param: 'params' } as const;

/** Names between points, then what to do with the value. */
const FIELD = /^(?<path>[^\s.:]+(?:\.[^\s.:]+)*)(?<lower>:lower)?$/;

/**
 * Longer text names nobody where case is ignored. Normalizing takes quadratic time: 100 kB of
 * combining marks would block the process for 5 s, 512 characters take 0.2 ms.
 */
const MAX_NAME_LENGTH = 512;

/** Far beyond what can be parsed, so that a list that contains itself ends, too. */
const MAX_NESTING = 100_000;

/**
 * Counts by a field of the request, such as the account of a login. It is known on arrival, before
 * any guard looks at a password. Values are taken for secrets: only their hash goes on from here. A
 * caller can invent new values, so put a limit by address beside it.
 *
 * Text and numbers count, `42` as `'42'`, and a list of one as what is in it. Anything else names
 * nobody: several values, objects, what is inherited.
 */
export class FieldKeyResolver implements KeyResolver {
  readonly prefix: string;
  readonly phase = 'guard';
  readonly reads: readonly [FieldPlace];
  readonly #source: 'body' | 'query' | 'params';
  readonly #path: readonly string[];
  readonly #ignoresCase: boolean;

  /**
   * A field is a name, or names with points between them: `user.email`. With `:lower` behind it,
   * values count in lower case, trimmed and normalized (NFKC). With a `secret` the hash is keyed, so
   * that values that can be guessed stay hidden as well.
   */
  constructor(
    place: FieldPlace,
    field: string,
    private readonly secret?: string,
  ) {
    const { path, lower } = FIELD.exec(field)?.groups ?? {};
    if (path === undefined) throw notAField(place, field);
    this.reads = [place];
    this.#source = SOURCES[place];
    this.#path = path.split('.');
    this.#ignoresCase = lower !== undefined;
    this.prefix = `${place}:${encodeURIComponent(path)}${lower ?? ''}`;
  }

  resolve(request: RequestSource): string | undefined {
    const text = textOf(ownValue(request[this.#source], this.#path));
    const name = this.#ignoresCase ? withoutCase(text) : text;
    if (name === undefined || name.trim() === '') return undefined;
    // As it is in memory: as UTF-8, all lone surrogates would be one and the same.
    return digestOf(Buffer.from(name, 'utf16le'), this.secret);
  }
}

/** Whether keys of this kind are fields. */
export function isFieldPlace(kind: string): kind is FieldPlace {
  return Object.hasOwn(SOURCES, kind);
}

function notAField(place: FieldPlace, field: string): InvalidOptionError {
  const expected = `a field, such as "${place}:email", "${place}:user.email" or "${place}:email:lower"`;
  return new InvalidOptionError('key', expected, `${place}:${field}`);
}

/** Own properties of objects alone: nothing that every request would have, such as `constructor`. */
function ownValue(source: unknown, path: readonly string[]): unknown {
  let value = source;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    if (!Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

function textOf(value: unknown): string | undefined {
  let one = value;
  // Code that compares loosely takes ['ada'] for 'ada', so that it must not be somebody else here.
  for (let i = 0; i < MAX_NESTING && Array.isArray(one) && one.length === 1; i++) one = one[0];
  if (typeof one === 'string') return one;
  if (typeof one === 'bigint' || Number.isFinite(one)) return String(one);
  return undefined;
}

/** One way to write each name: " Ada@x " and "ada@X" are one account. */
function withoutCase(text: string | undefined): string | undefined {
  const trimmed = text?.trim();
  if (trimmed === undefined || trimmed.length > MAX_NAME_LENGTH) return undefined;
  return trimmed.normalize('NFKC').toLowerCase();
}
