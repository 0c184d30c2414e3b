import type { TimeStats } from './stats-snapshot.js';

/** Labels and their values; all of them are few. */
export type Labels = Readonly<Record<string, string>>;

/** One number under its labels. */
export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/** A distribution under its labels. */
export interface TimesSample {
  readonly labels: Labels;
  readonly times: TimeStats;
}
