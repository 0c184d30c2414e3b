import { InvalidPlanError, quote } from './errors.js';
import type { TokenBucketDefinition } from './plan.js';
import { DENY_ALL, UNLIMITED } from './plan.js';

const DEFAULT_RATE = 3;
const DEFAULT_BURST = 5;

/**
 * The plan that the environment asks for: `APP_RATE_LIMIT` requests per second (3 by default) with
 * bursts of `APP_RATE_BURST` (5). A rate of −1 is no limit, 0 denies all.
 */
export function planFromEnv(
  env: Readonly<Record<string, string | undefined>> = process.env,
): TokenBucketDefinition {
  const rate = numberFrom(env, 'APP_RATE_LIMIT', DEFAULT_RATE);
  const burst = numberFrom(env, 'APP_RATE_BURST', DEFAULT_BURST);
  const switchedOff = rate === UNLIMITED || rate === DENY_ALL;
  return switchedOff
    ? { capacity: rate, tokensPerSecond: 1 }
    : { capacity: burst, tokensPerSecond: rate };
}

function numberFrom(
  env: Readonly<Record<string, string | undefined>>,
  name: string,
  fallback: number,
): number {
  const text = env[name]?.trim();
  if (text === undefined || text === '') return fallback;
  // Only plain decimals: Number() alone would also read "0x10", "1e3" and "Infinity".
  if (/^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  throw new InvalidPlanError('default', `${name} must be a number, got ${quote(env[name])}.`);
}
