import { object } from '../core/check/containers.js';
import { UnexpectedValue } from '../core/check/mistake.js';
import type { Path } from '../core/check/path.js';
import { optional, wholeNumber } from '../core/check/values.js';

/** When to cool down after a domain pushed back, and for how long. */
export interface ThrottleRule {
  /**
   * Blocks in a row that open a cooldown.
   * @default 3
   */
  readonly blocksToCooldown?: number;
  /**
   * The shortest cooldown in milliseconds; each is as long as chance has it between the two.
   * @default 30_000
   */
  readonly minCooldownMs?: number;
  /**
   * The longest cooldown in milliseconds that is not asked for by the domain itself.
   * @default 60_000
   */
  readonly maxCooldownMs?: number;
  /**
   * Milliseconds after which blocks are forgotten.
   * @default 600_000
   */
  readonly memoryMs?: number;
  /**
   * Milliseconds after which the request that tries after a cooldown is taken for lost.
   * @default 30_000
   */
  readonly probeTimeoutMs?: number;
  /**
   * The longest `Retry-After` in milliseconds that is heeded.
   * @default 3_600_000
   */
  readonly maxRetryAfterMs?: number;
}

/** A rule with every default filled in. */
export type CompleteThrottleRule = Required<ThrottleRule>;

/** Three blocks in a row, half a minute to a minute of quiet. */
const DEFAULT_THROTTLE_RULE: CompleteThrottleRule = Object.freeze({
  blocksToCooldown: 3,
  minCooldownMs: 30_000,
  maxCooldownMs: 60_000,
  memoryMs: 600_000,
  probeTimeoutMs: 30_000,
  maxRetryAfterMs: 3_600_000,
});

/** Ten years: beyond, times are no longer exact. */
const MAX_MS = 315_360_000_000;

const count = optional(wholeNumber(1, MAX_MS));
const fields = object<ThrottleRule>({
  blocksToCooldown: count,
  minCooldownMs: count,
  maxCooldownMs: count,
  memoryMs: count,
  probeTimeoutMs: count,
  maxRetryAfterMs: count,
});

/** Checks a rule. */
export function throttleRule(value: unknown, path: Path): ThrottleRule {
  const rule = fields(value, path);
  const { minCooldownMs, maxCooldownMs } = completeThrottleRule(rule);
  if (minCooldownMs <= maxCooldownMs) return rule;
  const expected = `at least minCooldownMs, which is ${minCooldownMs}`;
  throw new UnexpectedValue([...path, 'maxCooldownMs'], expected, maxCooldownMs);
}

/** Fills in what the rules leave out, the first that says something counting. */
export function completeThrottleRule(...rules: readonly ThrottleRule[]): CompleteThrottleRule {
  const said = rules.map((rule) =>
    Object.fromEntries(Object.entries(rule).filter(([, value]) => value !== undefined)),
  );
  return Object.assign({}, DEFAULT_THROTTLE_RULE, ...said.reverse()) as CompleteThrottleRule;
}
