import { quote } from '../errors.js';
import type { Check } from './check.js';
import { UnexpectedValue } from './mistake.js';

/** A value that is checked where it is used. */
export function checkedLater<T>(): Check<T> {
  return (value) => value as T;
}

/** Whatever a test accepts; `expected` is put after "must be". */
export function that<T>(expected: string, accepts: (value: unknown) => value is T): Check<T> {
  return (value, path) => {
    if (accepts(value)) return value;
    throw new UnexpectedValue(path, expected, value);
  };
}

/** A whole number between two, which are allowed. */
export function wholeNumber(
  from: number,
  to: number,
  expected = `a whole number from ${from} to ${to}`,
): Check<number> {
  const accepts = (value: unknown): value is number =>
    isWholeNumber(value) && value >= from && value <= to;
  return that(expected, accepts);
}

/** A text that matches; without a pattern, one that is not empty. */
export function text(expected: string, pattern = /[^]/): Check<string> {
  const accepts = (value: unknown): value is string =>
    typeof value === 'string' && pattern.test(value);
  return that(expected, accepts);
}

/** One of a few values. */
export function oneOf<const Value extends string | boolean>(
  ...values: readonly Value[]
): Check<Value> {
  const quoted = values.map(quote);
  const expected = `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
  return that(expected, (value): value is Value => values.includes(value as Value));
}

/** True or false. */
export const flag: Check<boolean> = oneOf(true, false);

/** A function; what it takes and returns cannot be checked. */
export function aFunction<T>(expected: string): Check<T> {
  return that(expected, (value): value is T & Function => typeof value === 'function');
}

/** The same, or left out. */
export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value, path) => (value === undefined ? undefined : check(value, path));
}

/** The same, or left out: then it is the fallback. */
export function withDefault<T>(check: Check<T>, fallback: T): Check<T> {
  return (value, path) => (value === undefined ? fallback : check(value, path));
}

/** The same, but errors show the type of the value instead of the value. */
export function secret<T>(check: Check<T>): Check<T> {
  return (value, path) => {
    try {
      return check(value, path);
    } catch (error) {
      if (!(error instanceof UnexpectedValue)) throw error;
      throw new UnexpectedValue(error.path, error.expected, typeof error.actual);
    }
  };
}

function isWholeNumber(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
