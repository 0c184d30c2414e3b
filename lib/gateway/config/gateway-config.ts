import { RateLimitError, listKnown, quote } from '../../core/errors.js';
import { MAX_QUOTA } from '../../core/define-plan.js';
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

  constructor(problem: string) {
    super('INVALID_OPTION', problem);
  }
}

/** Checks limits and fills in what they leave out; `where` is how errors call the place. */
export function completeLimits(where: string, limits: LevelLimits | undefined): CompleteLimits {
  if (limits === undefined) return NO_LIMITS;
  checkFields(where, limits, LIMIT_FIELDS);
  for (const field of LIMIT_FIELDS) {
    const value = limits[field];
    if (value === undefined || isLimit(value)) continue;
    throw new InvalidGatewayConfigError(
      `${where}.${field} must be a whole number from -1 (no limit) to ${MAX_QUOTA}, got ${quote(value)}.`,
    );
  }
  const said = Object.entries(limits).filter(([, value]) => value !== undefined);
  return Object.freeze({ ...NO_LIMITS, ...Object.fromEntries(said) });
}

/** Refuses what is no object, and fields that it may not have. */
export function checkFields(where: string, value: unknown, known: readonly string[]): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidGatewayConfigError(`${where} must be an object, got ${quote(value)}.`);
  }
  const unknown = Object.keys(value).find((field) => !known.includes(field));
  if (unknown === undefined) return;
  throw new InvalidGatewayConfigError(
    `${where}: unknown field ${quote(unknown)}. ${listKnown('fields', known)}`,
  );
}

function isLimit(value: unknown): boolean {
  return (
    Number.isSafeInteger(value) && (value as number) >= UNLIMITED && (value as number) <= MAX_QUOTA
  );
}
