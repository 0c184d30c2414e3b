import type { RateLimitSnapshot, SeriesPoint } from '../observe/stats-snapshot.js';
import type { ConfiguredValue } from './configuration/configured-value.js';

/** What the page shows: the answer of `data.json`. */
export interface DashboardData {
  /** What the page is called. */
  readonly title: string;
  /** The process that answered. */
  readonly process: ProcessFacts;
  /** What has happened in that process. */
  readonly stats: RateLimitSnapshot;
  /** Requests per second, the oldest first: two minutes at most. */
  readonly series: readonly SeriesPoint[];
  /** What was configured, and where each value came from. */
  readonly configuration: readonly ConfiguredValue[];
}

/** Which of many processes is seen. */
export interface ProcessFacts {
  /** The name of its machine. */
  readonly host: string;
  /** The number of the process. */
  readonly pid: number;
  /** `NODE_ENV`; '' where it is not set. */
  readonly environment: string;
  /** When it started, in milliseconds since 1970. */
  readonly startedAtMs: number;
}
