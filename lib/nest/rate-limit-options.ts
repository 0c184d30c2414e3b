import type { Clock } from '../core/clock.js';
import type { Check } from '../core/check/check.js';
import { checked } from '../core/check/check.js';
import { isRecord, object } from '../core/check/containers.js';
import { optionError } from '../core/check/mistake.js';
import {
  flag,
  oneOf,
  optional,
  secret,
  text,
  that,
  wholeNumber,
  withDefault,
} from '../core/check/values.js';
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
import { redisSource } from './redis-mistake.js';

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

/** What happens to a request without a key. */
export const missingKeyPolicy: Check<MissingKeyPolicy> = oneOf('ip', 'deny', 'skip');

const OPTIONS = object<CheckedOptions>(
  {
    plans: withDefault(objectOf<PlanDefinition>('an object of plans by name'), {}),
    registry: optional(
      that('a PlanRegistry', (value): value is PlanRegistry => value instanceof PlanRegistry),
    ),
    redis: optional(redisSource),
    keyPrefix: withDefault(
      text('letters, digits, "_", ".", ":" or "-"', /^[\w.:-]{1,100}$/),
      DEFAULT_KEY_PREFIX,
    ),
    deadlineMs: withDefault(wholeNumber(1, 60_000), 50),
    onStoreFailure: withDefault(oneOf('open', 'closed', 'local'), 'open'),
    localShare: withDefault(that('a number above 0, up to 1', isShare), 1),
    denyCache: withDefault(flag, true),
    store: optional(
      that('a LimitStore', (value): value is LimitStore => value instanceof LimitStore),
    ),
    clock: optional(that('a Clock', isClock)),
    maxLimits: withDefault(wholeNumber(100, 1e8), DEFAULT_MAX_LIMITS),
    keyResolvers: withDefault(objectOf<KeySource>('an object of key resolvers by name'), {}),
    onMissingKey: withDefault(missingKeyPolicy, 'ip'),
    ipv6PrefixBits: withDefault(wholeNumber(32, 128), DEFAULT_IPV6_PREFIX_BITS),
    keySecret: optional(secret(text('a string that is not empty'))),
    headers: withDefault(oneOf<HeaderStyle>('draft-11', 'legacy', false), 'draft-11'),
    problemDetails: withDefault(flag, false),
    diagnostics: withDefault(flag, true),
    sharedChanges: withDefault(flag, false),
    graphql: withDefault(
      object<GraphqlOptions>({
        countBy: optional(oneOf('selection', 'execution', 'operation', 'field')),
      }),
      { countBy: 'selection' },
    ),
    outbound: optional(that('an object of outbound options', isObject<OutboundOptions>)),
    gateway: optional(
      that('the configuration of a gateway, or { file }', isObject<GatewayOptions>),
    ),
  },
  { expected: 'given an object', field: 'option' },
);

/** Checks the options and fills in the defaults. Mistakes are errors here, before anything runs. */
export function checkOptions(options: RateLimitOptions): CheckedOptions {
  return checked(OPTIONS, options, (mistake) => optionError(mistake, 'forRoot()'));
}

/** Values are checked where they are used. */
function objectOf<T>(expected: string): Check<Readonly<Record<string, T>>> {
  return that(expected, isObject<Readonly<Record<string, T>>>);
}

function isObject<T extends object>(value: unknown): value is T {
  return isRecord(value);
}

function isShare(value: unknown): value is number {
  return typeof value === 'number' && value > 0 && value <= 1;
}

function isClock(value: unknown): value is Clock {
  return typeof (value as Partial<Clock> | null)?.nowUs === 'function';
}
