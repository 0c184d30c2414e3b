import type { Check } from '../../core/check/check.js';
import { checked } from '../../core/check/check.js';
import { object } from '../../core/check/containers.js';
import type { Mistake } from '../../core/check/mistake.js';
import type { Path } from '../../core/check/path.js';
import { wholeNumber, withDefault } from '../../core/check/values.js';
import { MAX_QUOTA } from '../../core/define-plan.js';
import { RateLimitError } from '../../core/errors.js';
import { UNLIMITED } from '../../core/plan.js';

/** What one level allows. −1 is no limit, 0 refuses all, more than 0 limits. */
export interface LevelLimits {
  /**
   * Requests a second.
   * @default -1
   */
  readonly maxQps?: number;
  /**
   * Connections at once.
   * @default -1
   */
  readonly maxConnections?: number;
  /**
   * Requests a second of each client; the closest level that says something counts.
   * @default -1
   */
  readonly maxQpsPerClient?: number;
  /**
   * Connections at once of each client; the closest level that says something counts.
   * @default -1
   */
  readonly maxConnectionsPerClient?: number;
}

/** A service behind the gateway. */
export interface GatewayBackend {
  /** What routes call it by. */
  readonly name: string;
  /**
   * What the backend can take, from all routes that lead to it.
   * @default no limit
   */
  readonly rateLimit?: LevelLimits;
}

/** What requests are told apart by, and where they go. */
export interface GatewayRoute {
  /**
   * What the route is called in calls and logs.
   * @default its host, and its path if it has one
   */
  readonly id?: string;
  /** The host that requests name, or `*` for any. */
  readonly host: string;
  /**
   * What the path of a request has to begin with, segment by segment.
   * @default '/'
   */
  readonly path?: string;
  /** The name of a backend. */
  readonly backend: string;
  /**
   * What the route allows.
   * @default no limit
   */
  readonly rateLimit?: LevelLimits;
}

/** What a gateway limits. */
export interface GatewayConfig {
  /**
   * How long the connections of a process that died stay counted, in milliseconds, from 100 to a day.
   * @default 60000
   */
  readonly connectionLeaseMs?: number;
  /**
   * What the gateway as a whole allows.
   * @default no limit
   */
  readonly server?: { readonly rateLimit?: LevelLimits };
  /**
   * The services behind the gateway.
   * @default []
   */
  readonly backends?: readonly GatewayBackend[];
  /**
   * The ways to them; the most specific one that fits a request is taken.
   * @default []
   */
  readonly routes?: readonly GatewayRoute[];
}

/** Limits of a level with every default filled in. */
export type CompleteLimits = Required<LevelLimits>;

/** No limit of any kind. */
export const NO_LIMITS: CompleteLimits = Object.freeze({
  maxQps: UNLIMITED,
  maxConnections: UNLIMITED,
  maxQpsPerClient: UNLIMITED,
  maxConnectionsPerClient: UNLIMITED,
});

/** The limits of a level, in the order in which they are explained. */
export const LIMIT_FIELDS = Object.keys(NO_LIMITS) as readonly (keyof LevelLimits)[];

/** A configuration that cannot work. The message starts with the place in it. */
export class InvalidGatewayConfigError extends RateLimitError {
  override readonly name = 'InvalidGatewayConfigError';

  constructor(problem: string, path?: Path) {
    super('INVALID_OPTION', problem, path);
  }
}

const limit = withDefault(
  wholeNumber(UNLIMITED, MAX_QUOTA, `a whole number from -1 (no limit) to ${MAX_QUOTA}`),
  UNLIMITED,
);
const limits = object<CompleteLimits>({
  maxQps: limit,
  maxConnections: limit,
  maxQpsPerClient: limit,
  maxConnectionsPerClient: limit,
});

/** The limits of a level. What is left out is no limit. */
export const levelLimits: Check<CompleteLimits> = (value, path) =>
  value === undefined ? NO_LIMITS : Object.freeze(limits(value, path));

/** Checks the limits that stand at a path, and fills in what they leave out. */
export function completeLimits(given: LevelLimits | undefined, path: Path): CompleteLimits {
  return checked(levelLimits, given, configError, path);
}

/** The error for what is wrong with a configuration. */
export function configError(mistake: Mistake): InvalidGatewayConfigError {
  return new InvalidGatewayConfigError(mistake.sentence('The gateway'), mistake.path);
}
