import { listKnown, quote } from '../errors.js';
import type { Check } from './check.js';
import { closestName } from './closest-name.js';
import { UnexpectedValue, UnknownField } from './mistake.js';
import type { Path } from './path.js';

/** A check for each field of a type: the compiler misses none, and refuses those of another type. */
export type Fields<T> = { readonly [Field in keyof T]-?: Check<T[Field]> };

/** How errors speak of an object. */
export interface ObjectWords {
  /** What is put after "must be". */
  readonly expected?: string;
  /** What a field is called. */
  readonly field?: string;
}

/** An object with these fields and no others. Those that are left out stay out. */
export function object<T extends object>(
  fields: Fields<T>,
  { expected = `an object with ${namesOf(fields)}`, field = 'field' }: ObjectWords = {},
): Check<T> {
  return (value, path) => {
    const given = recordIn(value, path, expected);
    for (const name of Object.keys(given)) {
      if (!Object.hasOwn(fields, name)) throw unknownField([...path, name], fields, field);
    }
    const result: Record<string, unknown> = {};
    for (const [name, check] of Object.entries<Check<unknown>>(fields)) {
      const one = check(given[name], [...path, name]);
      if (one !== undefined) result[name] = one;
    }
    return result as T;
  };
}

/** How large a container may be. */
export interface Size {
  /** What is put after "must be". */
  readonly expected: string;
  /** Entries at most. */
  readonly most: number;
  /** What to do about more. */
  readonly advice?: string;
}

/** A list whose entries all pass a check. */
export function list<T>(check: Check<T>, { expected, most, advice }: Size): Check<readonly T[]> {
  return (value, path) => {
    if (!Array.isArray(value)) throw new UnexpectedValue(path, expected, value);
    if (value.length > most) {
      const short = `${expected} with at most ${most} entries`;
      throw new UnexpectedValue(path, short, value.length, advice);
    }
    // Not map(), which passes over the holes of sparse lists.
    return Array.from(value, (entry: unknown, index) => check(entry, [...path, index]));
  };
}

/** The object itself, unless it is a list or no object. */
export function recordIn(value: unknown, path: Path, expected: string): Record<string, unknown> {
  if (isRecord(value)) return value;
  throw new UnexpectedValue(path, expected, value);
}

/** Whether a value is an object and no list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function unknownField(path: Path, fields: object, what: string): UnknownField {
  const [name, known] = [String(path.at(-1)), Object.keys(fields)];
  const meant = closestName(name, known);
  const hint = meant === undefined ? '' : `Did you mean "${meant}"? `;
  return new UnknownField(
    path,
    `unknown ${what} ${quote(name)}. ${hint}${listKnown(`${what}s`, known)}`,
  );
}

function namesOf(fields: object): string {
  return Object.keys(fields).map(quote).join(', ');
}
