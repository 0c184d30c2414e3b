import type { RateLimitSnapshot, SeriesPoint } from '../observe/stats-snapshot.js';
import type { ConfiguredValue } from './configuration/configured-value.js';

/** What the page shows: the answer of `data.json`. */
export interface DashboardData {
  readonly title: string;
  readonly process: ProcessFacts;
  readonly stats: RateLimitSnapshot;
  /** Requests per second, the oldest first: two minutes at most. */
  readonly series: readonly SeriesPoint[];
  readonly configuration: readonly ConfiguredValue[];
}

/** Which of many processes is seen. */
export interface ProcessFacts {
  readonly host: string;
  readonly pid: number;
  /** `NODE_ENV`; '' where it is not set. */
  readonly environment: string;
  readonly startedAtMs: number;
}
