const UNITS = {
  ms: 1,
  s: 1_000,
  sec: 1_000,
  secs: 1_000,
  second: 1_000,
  seconds: 1_000,
  m: 60_000,
  min: 60_000,
  mins: 60_000,
  minute: 60_000,
  minutes: 60_000,
  h: 3_600_000,
  hour: 3_600_000,
  hours: 3_600_000,
  d: 86_400_000,
  day: 86_400_000,
  days: 86_400_000,
} as const;

const UNITS_MS: ReadonlyMap<string, number> = new Map(Object.entries(UNITS));

type Unit = keyof typeof UNITS;
type Slash = '/' | ' / ';
/** A whole number from 1 up. Only the first digit is spelt out: more would be slow to compile. */
type Count = `${bigint}` & `${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9}${string}`;

/**
 * A rate in words, such as `'100/minute'` or `'5/10s'`: a token bucket that holds one period's worth.
 * Units are ms, s, sec, second, m, min, minute, h, hour, d and day, and their plurals. One that is
 * computed is checked at start: `` `${perMinute}/minute` as Rate ``.
 */
export type Rate = `${bigint}${Slash}${Unit}` | `${bigint}${Slash}${Count}${'' | ' '}${Unit}`;

const RATE = /^\s*(-?\d{1,15})\s*\/\s*(\d{1,9})?\s*([a-z]+)\s*$/i;

/** `tokens` in each `periodMs`. */
export interface ParsedRate {
  readonly tokens: number;
  readonly periodMs: number;
}

/**
 * Reads a rate such as `'100/minute'`, `'5/10s'` or `'1000 / 2 hours'`.
 * Returns undefined for anything else, so that a caller can tell a rate from a plan's name.
 */
export function parseRate(text: string): ParsedRate | undefined {
  const [, tokens, count, unit] = RATE.exec(text) ?? [];
  if (tokens === undefined || unit === undefined) return undefined;
  const unitMs = UNITS_MS.get(unit.toLowerCase());
  if (unitMs === undefined || Number(count) === 0) return undefined;
  return { tokens: Number(tokens), periodMs: Number(count ?? 1) * unitMs };
}
