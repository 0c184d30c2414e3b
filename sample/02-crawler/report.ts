import type { LimitStatsJson, ThrottleEvents } from 'nestjs-floodgate';

/** What happened to a domain, as a worker heard it. */
export interface News {
  readonly atMs: number;
  readonly event: keyof ThrottleEvents;
  readonly domain: string;
  readonly text: string;
}

/** What a worker knows of a domain. */
export interface DomainReport {
  readonly stats: LimitStatsJson;
  readonly waiting: number;
  readonly cooldowns: number;
  /** 0 when there is none. */
  readonly cooldownEndsMs: number;
}

/** How far a worker is, and what happened since it last said so. */
export interface Report {
  readonly domains: readonly DomainReport[];
  readonly news: readonly News[];
}
