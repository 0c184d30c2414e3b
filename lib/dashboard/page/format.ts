import type { TopKey } from '../../observe/stats-snapshot.js';

const COUNT = new Intl.NumberFormat('en');
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const TIME = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

/** From here on a number is shortened: it would not fit, and nobody reads it to the end. */
const LONG_COUNT = 10_000_000;

/** `12,345`, and `12.3M` for what is too long to read. */
export function count(value: number): string {
  return value < LONG_COUNT ? COUNT.format(Math.round(value)) : SHORT.format(value);
}

/** A number per second: whole, but for the small ones. */
export function rate(perSecond: number): string {
  const isSmall = perSecond < 10 && Math.abs(perSecond - Math.round(perSecond)) >= 0.05;
  return isSmall ? perSecond.toFixed(1) : count(perSecond);
}

/** `0 ms`, `85 ms`, `1.2 s`, `45 s`, `3 min`, `2 h`, `4 d`. */
export function duration(ms: number): string {
  if (ms < 999.5) return `${ms > 0 && ms < 10 ? round(ms) : Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 9.95) return `${round(seconds)} s`;
  if (seconds < 99.5) return `${Math.round(seconds)} s`;
  if (seconds < 99.5 * 60) return `${Math.round(seconds / 60)} min`;
  const hours = seconds / 3_600;
  return hours < 47.5 ? `${Math.round(hours)} h` : `${Math.round(hours / 24)} d`;
}

/** The time of day, `13:05:09`. */
export function clock(atMs: number): string {
  return TIME.format(atMs);
}

/** `83 %`; what is not nothing is never shown as nothing, nor what is not all as all. */
export function percent(share: number): string {
  if (share > 0 && share < 0.01) return '<1 %';
  if (share > 0.99 && share < 1) return '>99 %';
  return `${Math.round(share * 100)} %`;
}

/** `22` where it is known exactly, `≥ 3` where it is known to be no less, `≈ 20,000` elsewhere. */
export function estimate(known: Pick<TopKey, 'count' | 'atLeast' | 'atMost'>): string {
  const text = count(known.count);
  if (known.atMost === known.atLeast) return text;
  return known.count === known.atLeast ? `≥ ${text}` : `≈ ${text}`;
}

/** A plan in a few words: `5 in 10 s`, `3 at once`. */
export function quota(limit: { kind: string; quota: number; windowMs: number }): string {
  if (limit.quota < 0) return 'no limit';
  if (limit.quota === 0) return 'denies all';
  if (limit.kind === 'concurrency') return `${count(limit.quota)} at once`;
  return `${count(limit.quota)} in ${duration(limit.windowMs)}`;
}

function round(value: number): string {
  return value.toFixed(1).replace(/\.0$/, '');
}
