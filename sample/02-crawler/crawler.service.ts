import { Injectable } from '@nestjs/common';
import { AdaptiveThrottler, OutboundLimiter } from 'nestjs-floodgate';
import type { DomainReport, News, Report } from './report.js';

/** How often it tells how far it is. */
const REPORT_MS = 200;

@Injectable()
export class CrawlerService {
  readonly #cooldownEndsMs = new Map<string, number>();
  #news: News[] = [];

  constructor(
    private readonly limiter: OutboundLimiter,
    private readonly throttler: AdaptiveThrottler,
  ) {
    throttler.events.on('block', ({ domain, type }) => {
      this.#tell('block', domain, `pushed back: ${type}`);
    });
    throttler.events.on('cooldown', ({ domain, cooldownMs }) => {
      this.#cooldownEndsMs.set(domain, Date.now() + cooldownMs);
      this.#tell('cooldown', domain, `is left alone for ${(cooldownMs / 1_000).toFixed(1)} s`);
    });
    throttler.events.on('recovered', ({ domain }) => {
      this.#cooldownEndsMs.delete(domain);
      this.#tell('recovered', domain, 'answers again');
    });
  }

  /** Asks for all pages at once: each request waits for its turn, however many there are. */
  async crawl(
    urls: readonly string[],
    signal: AbortSignal,
    report: (report: Report) => void,
  ): Promise<void> {
    const timer = setInterval(() => report(this.#report()), REPORT_MS);
    try {
      await Promise.all(urls.map((url) => this.#page(url, signal)));
    } finally {
      clearInterval(timer);
      report(this.#report());
    }
  }

  /** A page that is refused is asked for again; its turn comes when the cooldown is over. */
  async #page(url: string, signal: AbortSignal): Promise<string> {
    try {
      for (;;) {
        const response = await this.limiter.fetch(url, { signal });
        const text = await response.text();
        if (response.status !== 429) return text;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
      return '';
    }
  }

  #report(): Report {
    const news = this.#news;
    this.#news = [];
    const stats = Object.values(this.limiter.getAllStats());
    return { news, domains: stats.map((each) => this.#reportOf(each.toJSON())) };
  }

  #reportOf(stats: DomainReport['stats']): DomainReport {
    const { domain } = stats;
    return {
      stats,
      waiting: this.limiter.waiting(domain).count,
      cooldowns: this.throttler.stats(domain).cooldownsOpened,
      cooldownEndsMs: this.#cooldownEndsMs.get(domain) ?? 0,
    };
  }

  #tell(event: News['event'], domain: string, text: string): void {
    this.#news.push({ atMs: Date.now(), event, domain, text });
  }
}
