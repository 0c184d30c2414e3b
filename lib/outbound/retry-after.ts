import { parseHttpDate } from './http-date.js';

/** The longest value that can make sense: a date has 33 characters at most. */
const MAX_CHARS = 40;
const SECONDS = /^\d+(?:\.\d+)?$/;

/**
 * How long a `Retry-After` header asks to wait, in milliseconds; undefined when it asks for nothing:
 * no header, no wait, a moment that has passed, or anything that is neither seconds nor a date.
 * Fractions of a second are not in the standard, but servers send them.
 */
export function parseRetryAfter(
  value: string | null | undefined,
  nowMs: number,
): number | undefined {
  const text = value?.trim() ?? '';
  if (text.length > MAX_CHARS) return undefined;
  const waitMs = SECONDS.test(text)
    ? secondsToMs(text)
    : msUntil(parseHttpDate(text, nowMs), nowMs);
  return waitMs > 0 && Number.isSafeInteger(waitMs) ? waitMs : undefined;
}

/** Whole milliseconds, rounded up; the detour keeps 2.007 s from becoming 2007.0000000000002 ms. */
function secondsToMs(text: string): number {
  return Math.ceil(Number((Number(text) * 1_000).toFixed(3)));
}

function msUntil(momentMs: number | undefined, nowMs: number): number {
  return momentMs === undefined ? 0 : Math.ceil(momentMs - nowMs);
}
