const UNITS_MS: ReadonlyMap<string, number> = new Map(
  Object.entries({
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
  }),
);

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
