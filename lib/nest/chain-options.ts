import type { ExecutionContext } from '@nestjs/common';
import type { Awaitable } from '../core/awaitable.js';
import type { Phase } from '../core/keys/key-resolver.js';
import type { KeySource } from '../core/keys/key-resolvers.js';
import { phaseOf } from '../core/keys/key-resolvers.js';
import type { PlanOrRate } from '../core/register.js';
import type { MissingKeyPolicy } from './rate-limit-options.js';
import type { RequestOutcome } from './request-outcome.js';

/** A plan of a chain: its name or a rate, with a key or tokens of its own where they differ. */
export type PlanLink =
  PlanOrRate | { readonly plan: PlanOrRate; readonly key?: KeySource; readonly tokens?: number };

/** The plans of a chain. */
export type PlanLinks = PlanLink | readonly PlanLink[];

/** Computes something from the request when it comes in. */
export type RequestFunction<T> = (
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the user knows the request's type
  request: any,
  context: ExecutionContext,
) => Awaitable<T>;

/** Tells from how a request ended whether it gets its tokens back. */
export type RefundCondition = (outcome: RequestOutcome) => Awaitable<boolean>;

/** What one `@RateLimit` asks for: one chain, decided as one. */
export interface ChainOptions {
  /**
   * The plans that must all admit the request. A function may choose them; nothing is no limit.
   * @default 'default'
   */
  readonly plan?: PlanLinks | RequestFunction<PlanLinks | null | undefined>;
  /**
   * Whom to count.
   * @default 'ip'
   */
  readonly key?: KeySource;
  /**
   * Tokens that the request costs.
   * @default 1
   */
  readonly tokens?: number | RequestFunction<number>;
  /**
   * Where to enforce: in the guard, before authentication, or in the interceptor, after it.
   * @default the guard when every key is known on arrival, the interceptor otherwise
   */
  readonly phase?: Phase;
  /**
   * `shared`: routes that use the same plan share its buckets. `route`: each route has its own.
   * @default 'shared'
   */
  readonly scope?: 'shared' | 'route';
  /**
   * What to do without a key.
   * @default that of the module
   */
  readonly onMissingKey?: MissingKeyPolicy;
  /**
   * Gives the tokens back when it answers true, once the response is over: count failures only, for
   * instance. Slots come back anyway.
   * @default none: what was charged stays charged
   */
  readonly refundOn?: RefundCondition;
}

/** Plans that are written down, as a list; undefined when a function chooses them. */
export function linksOf(plan: ChainOptions['plan']): readonly PlanLink[] | undefined {
  if (typeof plan === 'function') return undefined;
  return toLinks(plan ?? 'default');
}

/** One plan or several, as a list. */
export function toLinks(plans: PlanLinks): readonly PlanLink[] {
  return Array.isArray(plans) ? (plans as readonly PlanLink[]) : [plans as PlanLink];
}

/**
 * Whether a chain may lend slots, as far as its own options tell: a rate such as `'100/minute'` never
 * does, a name may stand for any kind of plan.
 */
export function mayLend(chain: ChainOptions): boolean {
  const links = linksOf((chain as ChainOptions | null)?.plan);
  return links === undefined || links.some((link) => !isRate(link));
}

/**
 * Whether a chain can only be decided once the guards have run, as far as its own options tell, or
 * wants to know what the handler throws. A name from `keyResolvers` may turn out to be known on
 * arrival.
 */
export function mayNeedInterceptor(chain: ChainOptions): boolean {
  // What is not made of fields is told at start, where the handler can be named.
  const { plan, key, tokens, phase, refundOn } = (chain as ChainOptions | null) ?? {};
  if (refundOn !== undefined) return true;
  if (phase !== undefined) return phase === 'interceptor';
  if (typeof plan === 'function' || typeof tokens === 'function') return true;
  const own = (linksOf(plan) ?? []).map((link) => (typeof link === 'string' ? 'ip' : link?.key));
  return [key, ...own].some((source) => source !== undefined && phaseOf(source) === 'interceptor');
}

/** Names start with a letter, rates with a number. */
function isRate(link: PlanLink): boolean {
  const plan: unknown = typeof link === 'string' ? link : link?.plan;
  return typeof plan === 'string' && /^\d/.test(plan);
}
