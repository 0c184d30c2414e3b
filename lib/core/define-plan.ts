import type { Check } from './check/check.js';
import { checked } from './check/check.js';
import type { Fields } from './check/containers.js';
import { isRecord, object } from './check/containers.js';
import { Mistake, UnexpectedValue } from './check/mistake.js';
import type { Path } from './check/path.js';
import { flag, oneOf, optional, that, wholeNumber, withDefault } from './check/values.js';
import { InvalidPlanError, quote } from './errors.js';
import type {
  ConcurrencyDefinition,
  Plan,
  PlanDefinition,
  PlanModifiers,
  SlidingWindowDefinition,
  TokenBucketDefinition,
} from './plan.js';
import { UNLIMITED } from './plan.js';
import { parseRate } from './rate.js';

/** Beyond this a double no longer tells one token from the next at the precision we promise. */
export const MAX_QUOTA = 1e12;
/** Ten years: longer times no longer fit a double to the microsecond. */
export const MAX_PERIOD_MS = 3_650 * 86_400_000;
/** How long a slot outlives a holder that died, unless the plan says otherwise. */
export const DEFAULT_LEASE_MS = 60_000;

const PLAN_NAME = /^[A-Za-z][\w-]{0,63}$/;
const MICROSECONDS_PER_SECOND = 1_000_000;
const MICROSECONDS_PER_MILLISECOND = 1_000;

const quota = wholeNumber(
  UNLIMITED,
  MAX_QUOTA,
  `a whole number from 1 to ${MAX_QUOTA} (or −1 for no limit, 0 to deny all)`,
);
const period = wholeNumber(
  1,
  MAX_PERIOD_MS,
  `a whole number of milliseconds from 1 to ten years (${MAX_PERIOD_MS})`,
);

/** Checks a definition and makes it a plan, or throws an error that says what to write instead. */
export function definePlan(name: string, definition: PlanDefinition): Plan {
  if (!PLAN_NAME.test(name)) {
    throw new InvalidPlanError(
      String(name),
      'a name starts with a letter and goes on with at most 63 letters, digits, "_" or "-".',
    );
  }
  return typeof definition === 'string'
    ? rateOrThrow(name, definition)
    : planFromFields(name, definition);
}

/** The plan that a rate such as `'100/minute'` stands for, named by itself; undefined for a name. */
export function planFromRate(rate: string): Plan | undefined {
  return parseRate(rate) ? rateOrThrow(rate.replaceAll(/\s/g, '').toLowerCase(), rate) : undefined;
}

function rateOrThrow(name: string, text: string): Plan {
  const rate = parseRate(text);
  if (!rate) {
    throw new InvalidPlanError(
      name,
      `expected a rate such as "100/minute", "5/10s" or "1000/day", got ${quote(text)}.`,
    );
  }
  const fail = (what: string) => (mistake: Mistake) =>
    new InvalidPlanError(name, `${what} ${mistake.message}`);
  checked(quota, rate.tokens, fail('the number of tokens'));
  checked(period, rate.periodMs, fail('the period'));
  return Object.freeze({
    name,
    label: name,
    kind: 'token-bucket',
    quota: rate.tokens,
    windowMs: rate.periodMs,
    // Limits of −1 and 0 are answered before anything is refilled.
    refill: Math.max(1, rate.tokens),
    periodUs: rate.periodMs * MICROSECONDS_PER_MILLISECOND,
    shadow: false,
    onStoreFailure: undefined,
  });
}

function planFromFields(name: string, definition: Exclude<PlanDefinition, string>): Plan {
  const errorOf = (mistake: Mistake) =>
    new InvalidPlanError(name, planProblem(mistake), mistake.path);
  const kind = checked(kindOf, definition, errorOf);
  switch (kind) {
    case 'token-bucket':
      return tokenBucket(name, checked(tokenBucketOf, definition, errorOf));
    case 'sliding-window':
      return slidingWindow(name, checked(slidingWindowFields, definition, errorOf));
    case 'concurrency':
      return concurrency(name, checked(concurrencyFields, definition, errorOf));
    default:
      return unreachable(kind);
  }
}

/** The error names the plan before. */
function planProblem(mistake: Mistake): string {
  return mistake.place('') === '' ? mistake.message : mistake.sentence('');
}

/** The field that identifies each kind. */
const FIELDS = {
  'token-bucket': 'capacity',
  'sliding-window': 'limit',
  concurrency: 'maxConcurrent',
} as const;

function kindOf(definition: unknown): Plan['kind'] {
  if (isRecord(definition)) {
    for (const kind of Object.keys(FIELDS) as Plan['kind'][]) {
      if (FIELDS[kind] in definition) return kind;
    }
  }
  throw new Mistake(
    [],
    'expected { capacity, tokensPerSecond }, { limit, windowMs }, { maxConcurrent, leaseMs } ' +
      `or a rate such as "100/minute", got ${quote(definition)}.`,
  );
}

/** The fields that plans of every kind have. */
const MODIFIERS: Fields<PlanModifiers> = {
  shadow: withDefault(flag, false),
  onStoreFailure: optional(oneOf('open', 'closed', 'local')),
};

function kindField<const Kind extends Plan['kind']>(kind: Kind): Check<Kind | undefined> {
  const isKind = (value: unknown): value is Kind => value === kind;
  return optional(that(`"${kind}", which its fields make it`, isKind));
}

const tokenBucketFields = object<TokenBucketDefinition>(
  {
    capacity: quota,
    tokensPerSecond: refillRate,
    kind: kindField('token-bucket'),
    ...MODIFIERS,
  },
  { fields: 'fields of a token-bucket plan' },
);

const slidingWindowFields = object<SlidingWindowDefinition>(
  {
    limit: quota,
    windowMs: period,
    kind: kindField('sliding-window'),
    ...MODIFIERS,
  },
  { fields: 'fields of a sliding-window plan' },
);

const concurrencyFields = object<ConcurrencyDefinition>(
  {
    maxConcurrent: quota,
    leaseMs: withDefault(period, DEFAULT_LEASE_MS),
    maxHoldMs: optional(period),
    kind: kindField('concurrency'),
    ...MODIFIERS,
  },
  { fields: 'fields of a concurrency plan' },
);

/** Checks the rate of a bucket that limits; one of −1 or 0 refills nothing, so that it has none. */
function tokenBucketOf(value: unknown, path: Path): TokenBucketDefinition {
  const bucket = tokenBucketFields(value, path);
  const { capacity, tokensPerSecond } = bucket;
  if (capacity <= 0) return bucket;
  if (!(tokensPerSecond > 0)) throw noRefill(tokensPerSecond, [...path, 'tokensPerSecond']);
  if ((capacity / tokensPerSecond) * 1_000 <= MAX_PERIOD_MS) return bucket;
  throw new Mistake(
    path,
    `at ${tokensPerSecond} tokens per second a bucket of ${capacity} takes more than ten years ` +
      'to fill. Raise tokensPerSecond or lower capacity.',
  );
}

/** Whether a rate may be 0 or missing depends on the capacity. */
function refillRate(value: unknown, path: Path): number {
  if (value === undefined || (Number.isFinite(value) && (value as number) >= 0)) {
    return value as number;
  }
  throw noRefill(value, path);
}

function noRefill(value: unknown, path: Path): UnexpectedValue {
  return new UnexpectedValue(
    path,
    'a number above 0',
    value,
    'To deny everything write capacity: 0.',
  );
}

function tokenBucket(name: string, definition: TokenBucketDefinition): Plan {
  const { capacity, tokensPerSecond, shadow = false, onStoreFailure } = definition;
  const limits = capacity > 0;
  return Object.freeze({
    name,
    label: name,
    kind: 'token-bucket',
    quota: capacity,
    windowMs: limits ? Math.ceil((capacity / tokensPerSecond) * 1_000) : 0,
    refill: limits ? tokensPerSecond : 1,
    periodUs: MICROSECONDS_PER_SECOND,
    shadow,
    onStoreFailure,
  });
}

function slidingWindow(name: string, definition: SlidingWindowDefinition): Plan {
  const { limit, windowMs, shadow = false, onStoreFailure } = definition;
  const windowUs = windowMs * MICROSECONDS_PER_MILLISECOND;
  return Object.freeze({
    name,
    label: name,
    kind: 'sliding-window',
    quota: limit,
    windowMs,
    windowUs,
    shadow,
    onStoreFailure,
  });
}

function concurrency(name: string, definition: ConcurrencyDefinition): Plan {
  const { maxConcurrent, maxHoldMs, leaseMs = DEFAULT_LEASE_MS } = definition;
  const { shadow = false, onStoreFailure } = definition;
  const leaseUs = leaseMs * MICROSECONDS_PER_MILLISECOND;
  return Object.freeze({
    name,
    label: name,
    kind: 'concurrency',
    quota: maxConcurrent,
    windowMs: 0,
    leaseUs,
    maxHoldMs,
    shadow,
    onStoreFailure,
  });
}

function unreachable(kind: never): never {
  throw new Error(`Unknown kind of plan: ${String(kind)}`);
}
