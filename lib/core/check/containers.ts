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
  /** What all fields are called. */
  readonly fields?: string;
}

/** An object with these fields and no others. Those that are left out stay out. */
export function object<T extends object>(fields: Fields<T>, words: ObjectWords = {}): Check<T> {
  const { expected = `an object with ${namesOf(fields)}` } = words;
  return (value, path) => {
    if (!isRecord(value)) throw new UnexpectedValue(path, expected, value);
    for (const name of Object.keys(value)) {
      if (!Object.hasOwn(fields, name)) throw unknownField([...path, name], fields, words);
    }
    const result: Record<string, unknown> = {};
    for (const [name, check] of Object.entries<Check<unknown>>(fields)) {
      const one = check(value[name], [...path, name]);
      if (one !== undefined) result[name] = one;
    }
    return result as T;
  };
}

/** How large a container may be. */
export interface Size {
  /** What is put after "must be". */
  readonly expected: string;
  /**
   * Entries at most.
   * @default any number
   */
  readonly most?: number;
  /** What to do about more. */
  readonly advice?: string;
}

/** A list whose entries all pass a check. */
export function list<T>(check: Check<T>, size: Size): Check<readonly T[]> {
  return (value, path) => {
    if (!Array.isArray(value)) throw new UnexpectedValue(path, size.expected, value);
    checkSize(value.length, path, size);
    // Not map(), which passes over the holes of sparse lists.
    return Array.from(value, (entry: unknown, index) => check(entry, [...path, index]));
  };
}

/**
 * An object of any names whose values all pass a check. Paths have what `nameOf` makes of a name,
 * which must hide what is secret in it.
 */
export function record<T>(
  check: Check<T>,
  size: Size,
  nameOf: (name: string) => string = (name) => name,
): Check<Readonly<Record<string, T>>> {
  return (value, path) => {
    if (!isRecord(value)) throw new UnexpectedValue(path, size.expected, value);
    const given = Object.entries(value);
    checkSize(given.length, path, size);
    // Not by assignment, which would take "__proto__" for the prototype.
    return Object.fromEntries(
      given.map(([name, one]) => [name, check(one, [...path, nameOf(name)])]),
    );
  };
}

/** Whether a value is an object and no list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function checkSize(entries: number, path: Path, { expected, most, advice }: Size): void {
  if (most === undefined || entries <= most) return;
  throw new UnexpectedValue(path, `${expected} with at most ${most} entries`, entries, advice);
}

function unknownField(path: Path, known: object, words: ObjectWords): UnknownField {
  const { field = 'field', fields = `${field}s` } = words;
  const [name, names] = [String(path.at(-1)), Object.keys(known)];
  const meant = closestName(name, names);
  const hint = meant === undefined ? '' : `Did you mean "${meant}"? `;
  return new UnknownField(
    path,
    `unknown ${field} ${quote(name)}. ${hint}${listKnown(fields, names)}`,
  );
}

function namesOf(fields: object): string {
  return Object.keys(fields).map(quote).join(', ');
}
