import type { Check } from '../core/check/check.js';
import { object } from '../core/check/containers.js';
import { Mistake } from '../core/check/mistake.js';
import type { Path } from '../core/check/path.js';
import { pathText } from '../core/check/path.js';
import { optional, that, wholeNumber } from '../core/check/values.js';
import { MAX_PERIOD_MS, MAX_QUOTA } from '../core/define-plan.js';
import { RateLimitError } from '../core/errors.js';
import { UNLIMITED } from '../core/plan.js';
import type { ThrottleRule } from './throttle-rule.js';
import { throttleRule } from './throttle-rule.js';

/** What one domain allows. */
export interface DomainRule {
  /** Requests that are let go each second. Fractions are welcome: 0.5 is one every two seconds. */
  readonly requestsPerSecond: number;
  /** Requests that may go at once after a pause. */
  readonly burstCapacity: number;
  /**
   * Requests that may be under way at once. −1 is no limit, 0 refuses all.
   * @default -1
   */
  readonly maxConcurrent?: number;
  /**
   * When to cool down, where it differs from that of the other domains.
   * @default that of all domains
   */
  readonly throttle?: ThrottleRule;
}

/** A rule that cannot work: a negative rate, a burst of nothing, an unknown field. */
export class InvalidDomainRuleError extends RateLimitError {
  override readonly name = 'InvalidDomainRuleError';

  constructor(problem: string, path?: Path) {
    super('INVALID_OPTION', problem, path);
  }
}

const MAX_REQUESTS_PER_SECOND = 1e6;
/** Beyond a minute's worth of requests a burst no longer looks intended. */
const LONGEST_USUAL_BURST_SECONDS = 60;
const NO_WARNINGS: readonly string[] = [];

/** Requests that may be let go each second. */
export const requestRate: Check<number> = that(
  `a number above 0, up to ${MAX_REQUESTS_PER_SECOND}`,
  (value): value is number =>
    typeof value === 'number' && value > 0 && value <= MAX_REQUESTS_PER_SECOND,
);
/** Requests that may go at once. */
export const burst: Check<number> = wholeNumber(1, MAX_QUOTA);
/** Requests that may be under way at once. */
export const slots: Check<number | undefined> = optional(
  wholeNumber(UNLIMITED, MAX_QUOTA, `a whole number from -1 to ${MAX_QUOTA}, or left out`),
);

const ruleFields = object<DomainRule>({
  requestsPerSecond: requestRate,
  burstCapacity: burst,
  maxConcurrent: slots,
  throttle: optional(throttleRule),
});

/** Checks a rule. Throws a `Mistake`. */
export function domainRule(value: unknown, path: Path): DomainRule {
  const rule = ruleFields(value, path);
  checkTimeToFill(rule, path, ['requestsPerSecond', 'burstCapacity']);
  return rule;
}

/** The error for what is wrong with rules. */
export function ruleError(mistake: Mistake): InvalidDomainRuleError {
  return new InvalidDomainRuleError(mistake.sentence('The outbound rules'), mistake.path);
}

/** Refuses a burst that takes longer to come back than can be counted; `names` are for the error. */
export function checkTimeToFill(
  { requestsPerSecond, burstCapacity }: DomainRule,
  path: Path,
  [rateName, burstName]: readonly [string, string],
): void {
  if ((burstCapacity / requestsPerSecond) * 1_000 <= MAX_PERIOD_MS) return;
  throw new Mistake(
    path,
    `at a ${rateName} of ${requestsPerSecond} it takes more than ten years until ` +
      `${burstCapacity} may go at once. Raise it or lower ${burstName}.`,
  );
}

/** What looks unintended in a rule. */
export function warningsOf(
  path: Path,
  { requestsPerSecond, burstCapacity }: DomainRule,
): readonly string[] {
  const usual = requestsPerSecond * LONGEST_USUAL_BURST_SECONDS;
  if (burstCapacity <= usual) return NO_WARNINGS;
  return [
    `${pathText(path)}: a burst of ${burstCapacity} is more than a minute's worth of requests (${Number(usual.toPrecision(6))}). ` +
      'Is that what the domain allows?',
  ];
}
