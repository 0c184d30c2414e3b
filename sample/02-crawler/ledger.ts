import type { DomainReport, News, Report } from './report.js';

/** What all workers together did to a domain. */
export interface Totals {
  readonly total: number;
  readonly delayed: number;
  readonly meanWaitMs: number;
  readonly delayRate: number;
  readonly cancelled: number;
  readonly cooldowns: number;
}

/** Every worker counts for itself; this adds up what they counted. */
export class Ledger {
  readonly news: (News & { readonly worker: number })[] = [];
  readonly #latest = new Map<number, Report>();

  note(worker: number, report: Report): void {
    this.#latest.set(worker, report);
    this.news.push(...report.news.map((each) => ({ worker, ...each })));
  }

  waiting(domain: string): number {
    return this.#sum(domain, ({ waiting }) => waiting);
  }

  /** The same for all workers, but some hear of it a little earlier. */
  cooldownMs(domain: string): number {
    const ends = this.#of(domain).map(({ cooldownEndsMs }) => cooldownEndsMs);
    return Math.max(0, Math.max(0, ...ends) - Date.now());
  }

  totals(domain: string): Totals {
    const total = this.#sum(domain, ({ stats }) => stats.total_requests);
    const delayed = this.#sum(domain, ({ stats }) => stats.delayed_requests);
    const waitMs = this.#sum(domain, ({ stats }) => stats.total_wait_time_ms);
    return {
      total,
      delayed,
      meanWaitMs: delayed === 0 ? 0 : Math.round(waitMs / delayed),
      delayRate: total === 0 ? 0 : Number((delayed / total).toFixed(2)),
      cancelled: this.#sum(domain, ({ stats }) => stats.cancelled_requests),
      cooldowns: this.#sum(domain, ({ cooldowns }) => cooldowns),
    };
  }

  #sum(domain: string, count: (report: DomainReport) => number): number {
    return this.#of(domain).reduce((sum, report) => sum + count(report), 0);
  }

  #of(domain: string): DomainReport[] {
    const reports = [...this.#latest.values()].flatMap(({ domains }) => domains);
    return reports.filter(({ stats }) => stats.domain === domain);
  }
}
