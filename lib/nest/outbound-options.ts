import { InvalidOptionError } from '../core/errors.js';
import type { FailurePolicy } from '../core/plan.js';
import type { Classifier } from '../outbound/classifiers.js';
import type { OutboundRulesOptions } from '../outbound/outbound-rules.js';
import { checkFields } from '../outbound/outbound-rules.js';
import type { ThrottleRule } from '../outbound/throttle-rule.js';
import { checkThrottleRule } from '../outbound/throttle-rule.js';

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

type OwnOptions = Omit<OutboundOptions, keyof OutboundRulesOptions>;
type Check = readonly [accepts: (value: unknown) => boolean, expected: string];

const OWN: { readonly [Name in keyof OwnOptions]-?: Check } = {
  file: [(value) => typeof value === 'string' && value !== '', 'the path of a file'],
  watch: [isFlag, 'true or false'],
  throttle: [(value) => typeof value === 'object' && value !== null, 'an object'],
  onStoreFailure: [
    (value) => value === 'open' || value === 'closed' || value === 'local',
    '"open", "closed" or "local"',
  ],
  timeoutMs: [(value) => typeof value === 'number' && value >= 0, 'a number from 0 up'],
  maxDomains: [(value) => isWhole(value, 1e6), 'a whole number from 1 to 1000000'],
  idleMs: [(value) => isWhole(value, 1e12), 'a whole number of milliseconds'],
  slotLeaseMs: [
    (value) => isWhole(value, 86_400_000) && (value as number) >= 1_000,
    'a whole number of milliseconds from 1000 to 86400000',
  ],
  classifiers: [Array.isArray, 'an array of functions'],
  heedUpstreamLimits: [isFlag, 'true or false'],
  fetch: [(value) => typeof value === 'function', 'a function like fetch'],
};

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

/** Checks the options and fills in the defaults; the rules are checked where they are made. */
export function checkOutboundOptions(options: OutboundOptions): CheckedOutboundOptions {
  checkFields('outbound', options, ['default', 'domains', ...Object.keys(OWN)]);
  for (const [name, [accepts, expected]] of Object.entries(OWN)) {
    const value: unknown = options[name as keyof OwnOptions];
    if (value === undefined || accepts(value)) continue;
    throw new InvalidOptionError(`outbound.${name}`, expected, value);
  }
  checkThrottleRule('outbound.throttle', options.throttle ?? {});
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return {
    watch: true,
    throttle: {},
    onStoreFailure: 'local',
    timeoutMs: Number.POSITIVE_INFINITY,
    maxDomains: 10_000,
    idleMs: 3_600_000,
    slotLeaseMs: 12_000,
    classifiers: [],
    heedUpstreamLimits: false,
    // Looked up when it is called: tests and tracers replace it.
    fetch: (...args) => globalThis.fetch(...args),
    ...(Object.fromEntries(given) as OutboundOptions),
  };
}

function isFlag(value: unknown): boolean {
  return typeof value === 'boolean';
}

function isWhole(value: unknown, to: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= to;
}
