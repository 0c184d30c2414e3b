import type { RateLimitError } from '../errors.js';
import { Mistake } from './mistake.js';
import type { Path } from './path.js';

/**
 * Checks a value of unknown type. Returns it with defaults filled in, or throws a `Mistake`. Checks
 * are functions, so that any function of this form can stand beside those of this folder.
 */
export type Check<T> = (value: unknown, path: Path) => T;

/** Runs a check, and makes an error of what it finds wrong. The value stands at `path`. */
export function checked<T>(
  check: Check<T>,
  value: unknown,
  errorOf: (mistake: Mistake) => RateLimitError,
  path: Path = [],
): T {
  try {
    return check(value, path);
  } catch (error) {
    throw error instanceof Mistake ? errorOf(error) : error;
  }
}
