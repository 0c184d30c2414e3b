import type { Path } from './check/path.js';

/** What went wrong, as a word that stays the same when the sentence is improved. */
export type RateLimitErrorCode =
  | 'INVALID_PLAN'
  | 'UNKNOWN_PLAN'
  | 'INVALID_KEY'
  | 'UNKNOWN_KEY_RESOLVER'
  | 'INVALID_TOKENS'
  | 'INVALID_OPTION'
  | 'LEASE_REQUIRED'
  | 'INVALID_DOMAIN'
  | 'UNKNOWN_DOMAIN'
  | 'WAIT_TIMED_OUT'
  | 'WAIT_ABORTED'
  | 'COST_EXCEEDS_BURST'
  | 'OUTBOUND_DENIED'
  | 'OUTBOUND_UNAVAILABLE'
  | 'GATEWAY_UNAVAILABLE'
  | 'CHANGE_UNAVAILABLE'
  | 'MISSING_PACKAGE'
  | 'REGISTERED_TWICE'
  | 'NOT_CONFIGURED'
  | 'DASHBOARD_UNPROTECTED';

/** A mistake in the configuration or in a call, never a refused request: those are values. */
export class RateLimitError extends Error {
  /** The name of the class. */
  override readonly name: string = 'RateLimitError';

  constructor(
    /** What went wrong, for programs. */
    readonly code: RateLimitErrorCode,
    message: string,
    /**
     * The way to the offending value in what was given, such as `['routes', 2, 'host']`; empty for
     * what was given as a whole, and for errors that are not about a value.
     */
    readonly path: Path = [],
  ) {
    super(message);
  }
}

/**
 * A plan that cannot work: a negative rate, a capacity that is not a number, an unknown field. Its
 * path starts with the name of the plan.
 */
export class InvalidPlanError extends RateLimitError {
  override readonly name = 'InvalidPlanError';

  constructor(plan: string, problem: string, path: Path = []) {
    super('INVALID_PLAN', `Plan "${plan}": ${problem}`, [plan, ...path]);
  }
}

/** A plan name that the registry does not know. */
export class UnknownPlanError extends RateLimitError {
  override readonly name = 'UnknownPlanError';

  constructor(plan: string, known: readonly string[]) {
    super('UNKNOWN_PLAN', `Unknown plan ${quote(plan)}. ${listKnown('plans', known)}`);
  }
}

/** A key that names nobody: empty, blank, or not a string. */
export class InvalidKeyError extends RateLimitError {
  override readonly name = 'InvalidKeyError';

  constructor(key: unknown) {
    super(
      'INVALID_KEY',
      `Expected the key to be a string that names whom to count, got ${quote(key)}. ` +
        'An empty key would be one bucket shared by strangers.',
    );
  }
}

/** A number of tokens that cannot be charged: zero, negative, fractional, NaN. */
export class InvalidTokensError extends RateLimitError {
  override readonly name = 'InvalidTokensError';

  constructor(tokens: unknown) {
    super(
      'INVALID_TOKENS',
      `Expected tokens to be a whole number from 1 up, got ${quote(tokens)}.`,
    );
  }
}

/** An option that the module cannot work with. */
export class InvalidOptionError extends RateLimitError {
  override readonly name = 'InvalidOptionError';

  constructor(option: string, expected: string, actual: unknown, path: Path = [option]) {
    const problem = `Expected \`${option}\` to be ${expected}, got ${quote(actual)}.`;
    super('INVALID_OPTION', problem, path);
  }
}

/** A concurrency plan asked for without a lease, so that nobody could give its slot back. */
export class LeaseRequiredError extends RateLimitError {
  override readonly name = 'LeaseRequiredError';

  constructor(plan: string) {
    super(
      'LEASE_REQUIRED',
      `Plan "${plan}" lends concurrency slots, which have to be given back: ` +
        'call acquire() and release the lease instead of allow().',
    );
  }
}

/** Characters of a value that are looked at; far fewer are shown. */
const MAX_QUOTED_LENGTH = 5_000;
const SECRET_NAME = /secret|password/i;

/**
 * Shows any value in an error message: short, on one line, and telling "10" from 10. Leaves out the
 * credentials of URLs, and what fields such as `keySecret` and `password` hold.
 */
export function quote(value: unknown): string {
  const text =
    typeof value === 'string' || (typeof value === 'object' && value !== null)
      ? stringify(value)
      : typeof value === 'function'
        ? 'a function'
        : String(value);
  const shown = text.slice(0, MAX_QUOTED_LENGTH).replaceAll(/:\/\/[^\s"]*@/g, '://***@');
  return shown.length > 120 ? `${shown.slice(0, 117)}...` : shown;
}

/** Says which names would have been right. */
export function listKnown(what: string, names: readonly string[]): string {
  if (names.length === 0) return `No ${what} are registered.`;
  const listed = names.slice(0, 50).map((name) => `"${name}"`);
  return `Known ${what}: ${listed.join(', ')}${names.length > 50 ? ', ...' : ''}.`;
}

function stringify(value: unknown): string {
  try {
    return JSON.stringify(value, hideSecret) ?? Object.prototype.toString.call(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}

function hideSecret(name: string, value: unknown): unknown {
  return SECRET_NAME.test(name) ? '***' : value;
}
