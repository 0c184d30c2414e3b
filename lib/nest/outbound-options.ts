import { checked } from '../core/check/check.js';
import { object } from '../core/check/containers.js';
import { optionError } from '../core/check/mistake.js';
import {
  aFunction,
  checkedLater,
  flag,
  oneOf,
  optional,
  text,
  that,
  wholeNumber,
  withDefault,
} from '../core/check/values.js';
import type { FailurePolicy } from '../core/plan.js';
import type { Classifier } from '../outbound/classifiers.js';
import { classifierList } from '../outbound/classifiers.js';
import type { OutboundRulesOptions } from '../outbound/outbound-rules.js';
import type { ThrottleRule } from '../outbound/throttle-rule.js';
import { throttleRule } from '../outbound/throttle-rule.js';

/** What your own calls to others are kept to. */
export interface OutboundOptions extends OutboundRulesOptions {
  /**
   * A JSON file with more rules, which count before those in the code.
   * @default none
   */
  readonly file?: string;
  /**
   * Whether the file is read again when it changes.
   * @default true
   */
  readonly watch?: boolean;
  /**
   * When to cool down after a domain pushed back, for domains that do not say.
   * @default {}: the defaults of its fields
   */
  readonly throttle?: ThrottleRule;
  /**
   * What happens while Redis does not answer: keep to the limits in this process alone (`local`), let
   * every call go (`open`), or none (`closed`).
   * @default 'local'
   */
  readonly onStoreFailure?: FailurePolicy;
  /**
   * Longest wait in milliseconds of calls that do not say.
   * @default no bound
   */
  readonly timeoutMs?: number;
  /**
   * Domains that are known at once; those that were not used for longest go first.
   * @default 10_000
   */
  readonly maxDomains?: number;
  /**
   * Milliseconds after which a domain that nobody called is forgotten, with its stats.
   * @default 3_600_000
   */
  readonly idleMs?: number;
  /**
   * Milliseconds after which a slot of `maxConcurrent` is free again when the process that held it has
   * died. Held slots are renewed three times as often; a process that cannot run for so long loses
   * its own.
   * @default 12_000
   */
  readonly slotLeaseMs?: number;
  /**
   * Tells blocks that are not told by default, from what came back.
   * @default []
   */
  readonly classifiers?: readonly Classifier[];
  /**
   * Pauses when a domain says that nothing is left (`RateLimit`, `X-RateLimit-*`), before it blocks.
   * @default false
   */
  readonly heedUpstreamLimits?: boolean;
  /**
   * What makes the calls of `OutboundLimiter.fetch`.
   * @default the global fetch
   */
  readonly fetch?: typeof globalThis.fetch;
}

/** Options with every default filled in. */
export type CheckedOutboundOptions = OutboundOptions &
  Required<
    Pick<
      OutboundOptions,
      | 'watch'
      | 'throttle'
      | 'onStoreFailure'
      | 'timeoutMs'
      | 'maxDomains'
      | 'idleMs'
      | 'slotLeaseMs'
      | 'classifiers'
      | 'heedUpstreamLimits'
      | 'fetch'
    >
  >;

const outboundOptions = object<CheckedOutboundOptions>({
  // Rules are checked where they are made.
  default: checkedLater(),
  domains: checkedLater(),
  file: optional(text('the path of a file')),
  watch: withDefault(flag, true),
  throttle: withDefault(throttleRule, {}),
  onStoreFailure: withDefault(oneOf('open', 'closed', 'local'), 'local'),
  timeoutMs: withDefault(
    that('a number from 0 up', (value): value is number => typeof value === 'number' && value >= 0),
    Number.POSITIVE_INFINITY,
  ),
  maxDomains: withDefault(wholeNumber(1, 1e6), 10_000),
  idleMs: withDefault(wholeNumber(1, 1e12, 'a whole number of milliseconds'), 3_600_000),
  slotLeaseMs: withDefault(
    wholeNumber(1_000, 86_400_000, 'a whole number of milliseconds from 1000 to 86400000'),
    12_000,
  ),
  classifiers: withDefault(classifierList, []),
  heedUpstreamLimits: withDefault(flag, false),
  // Looked up when it is called: tests and tracers replace it.
  fetch: withDefault<typeof globalThis.fetch>(aFunction('a function like fetch'), (...args) =>
    globalThis.fetch(...args),
  ),
});

/** Checks the options and fills in the defaults; the rules are checked where they are made. */
export function checkOutboundOptions(options: OutboundOptions): CheckedOutboundOptions {
  return checked(outboundOptions, options, optionError, ['outbound']);
}
