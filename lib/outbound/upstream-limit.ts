import { parseRateLimitField } from './rate-limit-field.js';
import type { ResponseHeaders } from './response-headers.js';
import { headerOf } from './response-headers.js';

/** What an upstream says that it still allows. */
export interface UpstreamLimit {
  /** Requests that are left. */
  readonly remaining: number;
  /** The time, from now, within which no more than these may be sent. Above 0. */
  readonly resetMs: number;
}

/** From here on a number of seconds is a date, the first in 2001: no window lasts 31 years. */
const FIRST_EPOCH_SECOND = 1_000_000_000;
/** What lasts longer is a misunderstanding, such as a date in milliseconds. */
const LONGEST_RESET_MS = 366 * 24 * 60 * 60 * 1_000;
const WHOLE_NUMBER = /^\d{1,15}$/;
const SECONDS = /^\d{1,12}(?:\.\d{1,9})?$/;

/**
 * The tightest limit that the headers of a response tell; undefined when they tell none that can be
 * read for sure. Knows `RateLimit` (draft-ietf-httpapi-ratelimit-headers) and the older pairs
 * `X-RateLimit-Remaining` and `-Reset`, with or without the `X-`, whose reset is in seconds from now or
 * a date in seconds since 1970.
 *
 * The tightest is the one that leaves the fewest requests per second until its reset; of several
 * that leave none, the one that takes longest.
 */
export function upstreamLimitOf(
  headers: ResponseHeaders,
  nowMs: number,
): UpstreamLimit | undefined {
  return [
    ...limitsOfDraft(headers),
    limitOfPair(headers, 'x-ratelimit', nowMs),
    limitOfPair(headers, 'ratelimit', nowMs),
  ].reduce(tighter, undefined);
}

function limitsOfDraft(headers: ResponseHeaders): (UpstreamLimit | undefined)[] {
  const items = parseRateLimitField(headerOf(headers, 'ratelimit') ?? '');
  return items.map(({ remaining, windowSeconds }) => limit(remaining, windowSeconds * 1_000));
}

function limitOfPair(
  headers: ResponseHeaders,
  prefix: string,
  nowMs: number,
): UpstreamLimit | undefined {
  const remaining = headerOf(headers, `${prefix}-remaining`) ?? '';
  const reset = headerOf(headers, `${prefix}-reset`) ?? '';
  if (!WHOLE_NUMBER.test(remaining) || !SECONDS.test(reset)) return undefined;
  return limit(Number(remaining), msUntil(Number(reset), nowMs));
}

function msUntil(seconds: number, nowMs: number): number {
  const ms = seconds >= FIRST_EPOCH_SECOND ? seconds * 1_000 - nowMs : seconds * 1_000;
  return Math.ceil(Number(ms.toFixed(3)));
}

/** What has been reset says nothing any more. */
function limit(remaining: number, resetMs: number): UpstreamLimit | undefined {
  return resetMs > 0 && resetMs <= LONGEST_RESET_MS ? { remaining, resetMs } : undefined;
}

function tighter(
  best: UpstreamLimit | undefined,
  next: UpstreamLimit | undefined,
): UpstreamLimit | undefined {
  if (!best || !next) return best ?? next;
  const [bestPace, nextPace] = [paceOf(best), paceOf(next)];
  if (bestPace === nextPace) return next.resetMs > best.resetMs ? next : best;
  return nextPace < bestPace ? next : best;
}

function paceOf({ remaining, resetMs }: UpstreamLimit): number {
  return remaining / resetMs;
}
