import { InvalidPlanError, quote } from './errors.js';
import type {
  ConcurrencyDefinition,
  Plan,
  PlanDefinition,
  SlidingWindowDefinition,
  TokenBucketDefinition,
} from './plan.js';
import { DENY_ALL, UNLIMITED } from './plan.js';
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

const FIELDS = {
  'token-bucket': ['capacity', 'tokensPerSecond'],
  'sliding-window': ['limit', 'windowMs'],
  concurrency: ['maxConcurrent', 'leaseMs', 'maxHoldMs'],
} as const;
const MODIFIERS: readonly string[] = ['kind', 'shadow', 'onStoreFailure'];
const FAILURE_POLICIES: readonly unknown[] = [undefined, 'open', 'closed', 'local'];

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
  checkQuota(name, 'the number of tokens', rate.tokens);
  checkPeriod(name, 'the period', rate.periodMs);
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
  const kind = kindOf(name, definition);
  checkFields(name, kind, definition);
  switch (kind) {
    case 'token-bucket':
      return tokenBucket(name, definition as TokenBucketDefinition);
    case 'sliding-window':
      return slidingWindow(name, definition as SlidingWindowDefinition);
    case 'concurrency':
      return concurrency(name, definition as ConcurrencyDefinition);
    default:
      return unreachable(kind);
  }
}

function kindOf(name: string, definition: unknown): Plan['kind'] {
  if (typeof definition === 'object' && definition !== null) {
    for (const kind of Object.keys(FIELDS) as Plan['kind'][]) {
      if (FIELDS[kind][0] in definition) return kind;
    }
  }
  throw new InvalidPlanError(
    name,
    'expected { capacity, tokensPerSecond }, { limit, windowMs }, { maxConcurrent, leaseMs } ' +
      `or a rate such as "100/minute", got ${quote(definition)}.`,
  );
}

function checkFields(name: string, kind: Plan['kind'], definition: object): void {
  const allowed: readonly string[] = [...FIELDS[kind], ...MODIFIERS];
  for (const field of Object.keys(definition)) {
    if (allowed.includes(field)) continue;
    throw new InvalidPlanError(
      name,
      `unknown field "${field}". A ${kind} plan has ${allowed.map((f) => `"${f}"`).join(', ')}.`,
    );
  }
  const { kind: named, shadow, onStoreFailure } = definition as Record<string, unknown>;
  if (named !== undefined && named !== kind) {
    throw new InvalidPlanError(
      name,
      `its fields make it a ${kind} plan, got kind ${quote(named)}.`,
    );
  }
  if (shadow !== undefined && typeof shadow !== 'boolean') {
    throw new InvalidPlanError(name, `shadow must be true or false, got ${quote(shadow)}.`);
  }
  if (!FAILURE_POLICIES.includes(onStoreFailure)) {
    throw new InvalidPlanError(
      name,
      `onStoreFailure must be "open", "closed" or "local", got ${quote(onStoreFailure)}.`,
    );
  }
}

function tokenBucket(name: string, definition: TokenBucketDefinition): Plan {
  const { capacity, tokensPerSecond, shadow = false, onStoreFailure } = definition;
  checkQuota(name, 'capacity', capacity);
  const limits = capacity > 0;
  // A plan of −1 or 0 refills nothing, so that its rate may be 0 or missing, but not nonsense.
  const rate: unknown = limits ? tokensPerSecond : (tokensPerSecond ?? 0);
  if (!Number.isFinite(rate) || (rate as number) < 0 || (limits && rate === 0)) {
    throw new InvalidPlanError(
      name,
      `tokensPerSecond must be a number above 0, got ${quote(tokensPerSecond)}. ` +
        'To deny everything write capacity: 0.',
    );
  }
  if (limits && (capacity / tokensPerSecond) * 1_000 > MAX_PERIOD_MS) {
    throw new InvalidPlanError(
      name,
      `at ${tokensPerSecond} tokens per second a bucket of ${capacity} takes more than ten years ` +
        'to fill. Raise tokensPerSecond or lower capacity.',
    );
  }
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
  checkQuota(name, 'limit', limit);
  checkPeriod(name, 'windowMs', windowMs);
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
  const { maxConcurrent, maxHoldMs, shadow = false, onStoreFailure } = definition;
  const { leaseMs = DEFAULT_LEASE_MS } = definition;
  checkQuota(name, 'maxConcurrent', maxConcurrent);
  checkPeriod(name, 'leaseMs', leaseMs);
  if (maxHoldMs !== undefined) checkPeriod(name, 'maxHoldMs', maxHoldMs);
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

function checkQuota(name: string, field: string, value: unknown): void {
  const whole = Number.isSafeInteger(value) ? (value as number) : Number.NaN;
  if (whole === UNLIMITED || whole === DENY_ALL || (whole > 0 && whole <= MAX_QUOTA)) return;
  throw new InvalidPlanError(
    name,
    `${field} must be a whole number from 1 to ${MAX_QUOTA} ` +
      `(or −1 for no limit, 0 to deny all), got ${quote(value)}.`,
  );
}

function checkPeriod(name: string, field: string, ms: unknown): void {
  if (Number.isSafeInteger(ms) && (ms as number) > 0 && (ms as number) <= MAX_PERIOD_MS) return;
  throw new InvalidPlanError(
    name,
    `${field} must be a whole number of milliseconds from 1 to ten years (${MAX_PERIOD_MS}), ` +
      `got ${quote(ms)}.`,
  );
}

function unreachable(kind: never): never {
  throw new Error(`Unknown kind of plan: ${String(kind)}`);
}
