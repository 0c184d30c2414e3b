import type { LimitStatus, RateLimitResult } from '../core/rate-limit-result.js';
import { retryAfterSeconds } from './rate-limit-exceeded.exception.js';
import type { HeaderStyle } from './rate-limit-options.js';

/** Sets one header of the response. */
export type SetHeader = (name: string, value: string) => void;

/** What was told about a request so far: its guard and its interceptor may both have something. */
export interface ToldHeaders {
  policy: string;
  state: string;
  /** The fewest left that `X-RateLimit-*` told. */
  legacyRemaining: number;
}

/** Nothing was told yet. */
export function newToldHeaders(): ToldHeaders {
  return { policy: '', state: '', legacyRemaining: Number.POSITIVE_INFINITY };
}

const TIMELESS = -1;

/**
 * The `RateLimit` headers of a handler's last request. Its plans hardly ever change, and most
 * callers are far from their limits, so that the next one is often told the very same: comparing a
 * few numbers is cheaper than writing them (+3 % requests per second on a bare route).
 */
export class HeaderMemo {
  #limits: readonly LimitStatus[] = [];
  #policy = '';
  #state = '';
  /** What is left of each limit, and for how many seconds, as `#state` says. */
  readonly #left: number[] = [];
  readonly #seconds: number[] = [];

  /** The two header values for these limits, shadow plans left out. */
  textsFor(limits: readonly LimitStatus[]): { policy: string; state: string } {
    const samePolicy = samePolicies(limits, this.#limits);
    if (!samePolicy) this.#policy = limits.filter(isTold).map(policyOf).join(', ');
    if (!this.#sameState(limits) || !samePolicy) this.#state = this.#stateText(limits);
    this.#limits = limits;
    return { policy: this.#policy, state: this.#state };
  }

  /** Compares with what was told last, and takes down the new numbers. */
  #sameState(limits: readonly LimitStatus[]): boolean {
    let same = true;
    for (let i = 0; i < limits.length; i++) {
      const left = limits[i]!.remaining;
      const seconds = secondsToTell(limits[i]!);
      if (this.#left[i] === left && this.#seconds[i] === seconds) continue;
      same = false;
      this.#left[i] = left;
      this.#seconds[i] = seconds;
    }
    return same;
  }

  #stateText(limits: readonly LimitStatus[]): string {
    let text = '';
    limits.forEach(({ plan, shadow }, i) => {
      if (shadow) return;
      const time = this.#seconds[i] === TIMELESS ? '' : `;t=${this.#seconds[i]}`;
      text = joined(text, `"${plan}";r=${this.#left[i]}${time}`);
    });
    return text;
  }
}

/** How to tell, and what was told to the last caller of the same handler. */
export interface Telling {
  readonly style: HeaderStyle;
  readonly memo: HeaderMemo;
  readonly set: SetHeader;
}

/** What there is to tell. */
export type ToldResult = Pick<RateLimitResult, 'allowed' | 'retryAfterMs' | 'limits'>;

/** Tells the caller its limits, and what is left of them. Shadow plans are nobody's business. */
export function writeHeaders(result: ToldResult, told: ToldHeaders, telling: Telling): void {
  const { style, set } = telling;
  if (style === 'draft-11') writeDraft(result.limits, told, telling);
  if (style === 'legacy') writeLegacy(result, told, set);
  if (result.allowed) return;
  const seconds = retryAfterSeconds(result);
  if (seconds !== undefined) set('Retry-After', String(seconds));
  // RFC 6585: a 429 must not be stored.
  set('Cache-Control', 'no-store');
}

function writeDraft(
  limits: readonly LimitStatus[],
  told: ToldHeaders,
  { memo, set }: Telling,
): void {
  const { policy, state } = memo.textsFor(limits);
  if (policy === '') return;
  told.policy = joined(told.policy, policy);
  told.state = joined(told.state, state);
  set('RateLimit-Policy', told.policy);
  set('RateLimit', told.state);
}

function isTold({ shadow }: LimitStatus): boolean {
  return !shadow;
}

function joined(before: string, after: string): string {
  return before === '' ? after : `${before}, ${after}`;
}

function samePolicies(some: readonly LimitStatus[], others: readonly LimitStatus[]): boolean {
  if (some.length !== others.length) return false;
  for (let i = 0; i < some.length; i++) if (!samePolicy(some[i]!, others[i]!)) return false;
  return true;
}

function samePolicy(one: LimitStatus, other: LimitStatus): boolean {
  return (
    one.plan === other.plan &&
    one.quota === other.quota &&
    one.windowMs === other.windowMs &&
    one.kind === other.kind &&
    one.shadow === other.shadow
  );
}

/** Names need no escaping: they are letters, digits and a few marks, checked when they are made. */
function policyOf({ plan, kind, quota, windowMs }: LimitStatus): string {
  return kind === 'concurrency'
    ? `"${plan}";q=${quota};qu="concurrent-requests"`
    : `"${plan}";q=${quota};w=${wholeSeconds(windowMs)}`;
}

/** A concurrency cap has no time, and neither has what will never be allowed. */
function secondsToTell(limit: LimitStatus): number {
  const timeless = limit.kind === 'concurrency' || limit.retryAfterMs === null;
  return timeless ? TIMELESS : wholeSeconds(effectiveWindowMs(limit));
}

/** The time within which no more than what remains can be used. */
function effectiveWindowMs(limit: LimitStatus): number {
  if (limit.denied) return limit.retryAfterMs!;
  if (limit.remaining > 0 || limit.kind !== 'token-bucket') return limit.resetMs;
  return Math.min(limit.windowMs / limit.quota, limit.resetMs);
}

/** One plan's worth: the plan that said no and takes longest, or the one with the fewest left. */
function writeLegacy({ allowed, limits }: ToldResult, told: ToldHeaders, set: SetHeader): void {
  const binding = limits
    .filter(({ shadow, denied }) => !shadow && (allowed || denied))
    .reduce<LimitStatus | undefined>(tighter, undefined);
  if (!binding) return;
  // A plan that said no is told whatever was told before.
  if (!binding.denied && binding.remaining >= told.legacyRemaining) return;
  told.legacyRemaining = binding.denied ? -1 : binding.remaining;
  set('X-RateLimit-Limit', String(binding.quota));
  set('X-RateLimit-Remaining', String(binding.remaining));
  set('X-RateLimit-Reset', String(Math.ceil(binding.resetMs / 1_000)));
}

function tighter(best: LimitStatus | undefined, next: LimitStatus): LimitStatus {
  if (!best) return next;
  const waitsLonger = (next.retryAfterMs ?? Infinity) > (best.retryAfterMs ?? Infinity);
  return (next.denied ? waitsLonger : next.remaining < best.remaining) ? next : best;
}

function wholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}
