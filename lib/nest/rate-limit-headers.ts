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

/** Tells the caller its limits, and what is left of them. Shadow plans are nobody's business. */
export function writeHeaders(
  style: HeaderStyle,
  result: RateLimitResult,
  told: ToldHeaders,
  set: SetHeader,
): void {
  if (style === 'draft-11') writeDraft(result.limits, told, set);
  if (style === 'legacy') writeLegacy(result, told, set);
  if (result.allowed) return;
  const seconds = retryAfterSeconds(result);
  if (seconds !== undefined) set('Retry-After', String(seconds));
  // RFC 6585: a 429 must not be stored.
  set('Cache-Control', 'no-store');
}

function writeDraft(limits: readonly LimitStatus[], told: ToldHeaders, set: SetHeader): void {
  for (const limit of limits) {
    if (limit.shadow) continue;
    told.policy += (told.policy && ', ') + policyOf(limit);
    told.state += (told.state && ', ') + stateOf(limit);
  }
  if (told.policy === '') return;
  set('RateLimit-Policy', told.policy);
  set('RateLimit', told.state);
}

/** Names need no escaping: they are letters, digits and a few marks, checked when they are made. */
function policyOf({ plan, kind, quota, windowMs }: LimitStatus): string {
  return kind === 'concurrency'
    ? `"${plan}";q=${quota};qu="concurrent-requests"`
    : `"${plan}";q=${quota};w=${wholeSeconds(windowMs)}`;
}

function stateOf(limit: LimitStatus): string {
  const { plan, kind, remaining } = limit;
  return kind === 'concurrency'
    ? `"${plan}";r=${remaining}`
    : `"${plan}";r=${remaining};t=${wholeSeconds(effectiveWindowMs(limit))}`;
}

/** The time within which no more than what remains can be used. */
function effectiveWindowMs({ denied, retryAfterMs, remaining, ...limit }: LimitStatus): number {
  if (denied) return retryAfterMs ?? limit.windowMs;
  const perTokenMs = limit.windowMs / limit.quota;
  const nextTokenOnly = remaining === 0 && limit.kind === 'token-bucket';
  return nextTokenOnly ? Math.min(perTokenMs, limit.resetMs) : limit.resetMs;
}

/** One plan's worth: the plan that said no and takes longest, or the one with the fewest left. */
function writeLegacy(
  { allowed, limits }: RateLimitResult,
  told: ToldHeaders,
  set: SetHeader,
): void {
  const binding = limits
    .filter(({ shadow, denied }) => !shadow && (allowed || denied))
    .reduce<LimitStatus | undefined>(tighter, undefined);
  if (!binding || binding.remaining >= told.legacyRemaining) return;
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
