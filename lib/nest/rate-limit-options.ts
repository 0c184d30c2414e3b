import type { Clock } from '../core/clock.js';
import { InvalidOptionError, listKnown, RateLimitError } from '../core/errors.js';
import { DEFAULT_IPV6_PREFIX_BITS } from '../core/keys/address.js';
import type { KeySource } from '../core/keys/key-resolvers.js';
import { LimitStore } from '../core/limit-store.js';
import type { FailurePolicy, PlanDefinition } from '../core/plan.js';
import { PlanRegistry } from '../core/plan-registry.js';
import type { RedisSource } from '../redis/connect.js';
import { DEFAULT_KEY_PREFIX } from '../redis/redis-keys.js';
import { DEFAULT_MAX_LIMITS } from '../memory/memory-store.js';
import type { GatewayOptions } from '../gateway/config/gateway-options.js';
import type { OutboundOptions } from './outbound-options.js';
import { redisMistake } from './redis-mistake.js';

/** What happens to a request in which the resolver finds no key. */
export type MissingKeyPolicy = 'ip' | 'deny' | 'skip';

/** Which headers tell callers about their limits. */
export type HeaderStyle = 'draft-11' | 'legacy' | false;

/** How GraphQL operations are limited. */
export interface GraphqlOptions {
  /**
   * What an operation pays. `selection`: a field as often as the document selects it, all together
   * before the first one runs. `execution`: every run of a field, below a list too; `field` is its
   * older name. `operation`: each limit once, so that aliases are free.
   * @default 'selection'
   */
  readonly countBy?: 'selection' | 'execution' | 'operation' | 'field';
}

/** Options of `RateLimitModule.forRoot()`. All of them may be left out. */
export interface RateLimitOptions {
  /**
   * Plans by name. A plan called `default` is the one that a bare `@RateLimit()` uses.
   * @default { default: planFromEnv() }
   */
  readonly plans?: Readonly<Record<string, PlanDefinition>>;
  /**
   * Where plans come from that `plans` does not name: a database, for instance.
   * @default none
   */
  readonly registry?: PlanRegistry;
  /**
   * Shares limits between processes: a URL, options of ioredis (sentinels too), nodes of a cluster, or
   * an ioredis client, whose configuration is then used for a connection of our own.
   * @default none: this process alone
   */
  readonly redis?: RedisSource;
  /**
   * Stands before every key in Redis.
   * @default 'rate_limiter'
   */
  readonly keyPrefix?: string;
  /**
   * Longest that a decision waits for Redis, in milliseconds.
   * @default 50
   */
  readonly deadlineMs?: number;
  /**
   * What happens while Redis does not answer, for plans that do not say: let pass (`open`), answer
   * 503 (`closed`), or limit in this process alone (`local`).
   * @default 'open'
   */
  readonly onStoreFailure?: FailurePolicy;
  /**
   * The share of a plan that one process enforces under `local`, more than 0, up to 1.
   * @default 1
   */
  readonly localShare?: number;
  /**
   * Denies what Redis just denied without asking it again, until the wait that it told is over.
   * @default true
   */
  readonly denyCache?: boolean;
  /**
   * Remembers what was spent, instead of the embedded store and of Redis.
   * @default the embedded store, in this process
   */
  readonly store?: LimitStore;
  /**
   * The time by which the embedded store decides.
   * @default a monotonic clock
   */
  readonly clock?: Clock;
  /**
   * Limits that the embedded store remembers; the least recently used goes first.
   * @default 100_000
   */
  readonly maxLimits?: number;
  /**
   * More key resolvers, by the name to be used as `key`.
   * @default {}
   */
  readonly keyResolvers?: Readonly<Record<string, KeySource>>;
  /**
   * What to do without a key: count by address, answer 403, or do not limit.
   * @default 'ip'
   */
  readonly onMissingKey?: MissingKeyPolicy;
  /**
   * Leading bits of an IPv6 address that tell clients apart, 32 to 128.
   * @default 64
   */
  readonly ipv6PrefixBits?: number;
  /**
   * Keys the hash that stands for the value of a header or field, so that it cannot be guessed.
   * @default none
   */
  readonly keySecret?: string;
  /**
   * `RateLimit` and `RateLimit-Policy` as in draft-ietf-httpapi-ratelimit-headers-11, the older
   * `X-RateLimit-*`, or none. `Retry-After` is always sent with a 429.
   * @default 'draft-11'
   */
  readonly headers?: HeaderStyle;
  /**
   * Answers a 429 as `application/problem+json` (RFC 9457).
   * @default false
   */
  readonly problemDetails?: boolean;
  /**
   * Warns, once each, of what looks wrong around the application: proxies that are not trusted, or
   * too much, and processes that count alone.
   * @default true
   */
  readonly diagnostics?: boolean;
  /**
   * Whether plans and outbound rules can be changed while running, in all processes at once:
   * `SharedPlans`, `SharedRules`. On Redis each process then listens on a second connection.
   * @default false
   */
  readonly sharedChanges?: boolean;
  /**
   * How GraphQL operations are limited.
   * @default { countBy: 'selection' }
   */
  readonly graphql?: GraphqlOptions;
  /**
   * What your own calls to others are kept to.
   * @default {}
   */
  readonly outbound?: OutboundOptions;
  /**
   * What requests on their way to other services are kept to: a configuration, or its file.
   * @default none: nothing is limited
   */
  readonly gateway?: GatewayOptions;
}

/** Options with every default filled in. */
export type CheckedOptions = RateLimitOptions &
  Required<
    Pick<
      RateLimitOptions,
      | 'plans'
      | 'maxLimits'
      | 'keyResolvers'
      | 'onMissingKey'
      | 'ipv6PrefixBits'
      | 'headers'
      | 'problemDetails'
      | 'graphql'
      | 'keyPrefix'
      | 'deadlineMs'
      | 'onStoreFailure'
      | 'localShare'
      | 'denyCache'
      | 'diagnostics'
      | 'sharedChanges'
    >
  >;

/** Makes the options, for `forRootAsync({ useClass })`. */
export interface RateLimitOptionsFactory {
  /** What `forRoot` would have been given. */
  createRateLimitOptions(): Promise<RateLimitOptions> | RateLimitOptions;
}

const COUNT_BY: readonly unknown[] = [undefined, 'selection', 'execution', 'operation', 'field'];

const CHECKS: {
  readonly [Name in keyof RateLimitOptions]-?: [(value: unknown) => boolean, string];
} = {
  plans: [isRecord, 'an object of plans by name'],
  registry: [(value) => value instanceof PlanRegistry, 'a PlanRegistry'],
  redis: [
    (value) => redisMistake(value) === undefined,
    'a URL, options of ioredis, nodes of a cluster or an ioredis client',
  ],
  keyPrefix: [
    (value) => typeof value === 'string' && /^[\w.:-]{1,100}$/.test(value),
    'letters, digits, "_", ".", ":" or "-"',
  ],
  deadlineMs: [(value) => isWhole(value, 1, 60_000), 'a whole number from 1 to 60000'],
  onStoreFailure: [
    (value) => value === 'open' || value === 'closed' || value === 'local',
    '"open", "closed" or "local"',
  ],
  localShare: [
    (value) => typeof value === 'number' && value > 0 && value <= 1,
    'a number above 0, up to 1',
  ],
  denyCache: [(value) => typeof value === 'boolean', 'true or false'],
  store: [(value) => value instanceof LimitStore, 'a LimitStore'],
  clock: [(value) => hasMethod(value, 'nowUs'), 'a Clock'],
  maxLimits: [(value) => isWhole(value, 100, 1e8), 'a whole number from 100 to 100000000'],
  keyResolvers: [isRecord, 'an object of key resolvers by name'],
  onMissingKey: [isMissingKeyPolicy, '"ip", "deny" or "skip"'],
  ipv6PrefixBits: [(value) => isWhole(value, 32, 128), 'a whole number from 32 to 128'],
  keySecret: [(value) => typeof value === 'string' && value !== '', 'a string that is not empty'],
  headers: [
    (value) => value === 'draft-11' || value === 'legacy' || value === false,
    '"draft-11", "legacy" or false',
  ],
  problemDetails: [(value) => typeof value === 'boolean', 'true or false'],
  diagnostics: [(value) => typeof value === 'boolean', 'true or false'],
  sharedChanges: [(value) => typeof value === 'boolean', 'true or false'],
  graphql: [isGraphqlOptions, '{ countBy: "selection" | "execution" | "operation" }'],
  outbound: [isRecord, 'an object of outbound options'],
  gateway: [isRecord, 'the configuration of a gateway, or { file }'],
};

/** Checks the options and fills in the defaults. Mistakes are errors here, before anything runs. */
export function checkOptions(options: RateLimitOptions): CheckedOptions {
  if (!isRecord(options)) throw new InvalidOptionError('forRoot()', 'given an object', options);
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  for (const [name, value] of given) checkOption(name, value);
  return {
    plans: {},
    maxLimits: DEFAULT_MAX_LIMITS,
    keyResolvers: {},
    onMissingKey: 'ip',
    ipv6PrefixBits: DEFAULT_IPV6_PREFIX_BITS,
    headers: 'draft-11',
    problemDetails: false,
    graphql: { countBy: 'selection' },
    keyPrefix: DEFAULT_KEY_PREFIX,
    deadlineMs: 50,
    onStoreFailure: 'open',
    localShare: 1,
    denyCache: true,
    diagnostics: true,
    sharedChanges: false,
    ...(Object.fromEntries(given) as RateLimitOptions),
  };
}

export function isMissingKeyPolicy(value: unknown): value is MissingKeyPolicy {
  return value === 'ip' || value === 'deny' || value === 'skip';
}

function checkOption(name: string, value: unknown): void {
  if (!Object.hasOwn(CHECKS, name)) {
    throw new RateLimitError(
      'INVALID_OPTION',
      `Unknown option "${name}". ${listKnown('options', Object.keys(CHECKS))}`,
    );
  }
  const [accepts, expected] = CHECKS[name as keyof RateLimitOptions];
  if (accepts(value)) return;
  // Never the value of a secret, not even a wrong one; a URL can hold a password.
  if (name === 'redis') {
    const mistake = redisMistake(value)!;
    throw new RateLimitError('INVALID_OPTION', `Option "redis" must be ${expected}: ${mistake}`);
  }
  throw new InvalidOptionError(name, expected, name === 'keySecret' ? typeof value : value);
}

function isGraphqlOptions(value: unknown): boolean {
  const { countBy, ...rest } = (value ?? {}) as GraphqlOptions;
  return isRecord(value) && COUNT_BY.includes(countBy) && Object.keys(rest).length === 0;
}

function isRecord(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isWhole(value: unknown, from: number, to: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= from && (value as number) <= to;
}

function hasMethod(value: unknown, name: string): boolean {
  return typeof (value as Record<string, unknown> | null)?.[name] === 'function';
}
