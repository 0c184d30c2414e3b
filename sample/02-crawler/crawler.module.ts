import { join } from 'node:path';
import type { DynamicModule } from '@nestjs/common';
import { Module } from '@nestjs/common';
import { RateLimitModule } from 'nestjs-floodgate';
import { CrawlerService } from './crawler.service.js';
import type { Ports } from './sites.js';
import { fetchFrom } from './sites.js';

export interface CrawlerOptions {
  readonly ports: Ports;
  /** Workers with the same Redis and the same prefix share their limits. */
  readonly redis: string | undefined;
  readonly keyPrefix: string;
}

@Module({ providers: [CrawlerService] })
export class CrawlerModule {
  static forRoot({ ports, redis, keyPrefix }: CrawlerOptions): DynamicModule {
    const limits = RateLimitModule.forRoot({
      redis,
      keyPrefix,
      // Nobody is kept waiting by a crawler that waits for Redis.
      deadlineMs: 1_000,
      outbound: {
        domains: {
          'docs.test': { requestsPerSecond: 10, burstCapacity: 5 },
          'news.test': { requestsPerSecond: 6, burstCapacity: 3 },
        },
        // More domains, in a file that may be changed while the application runs.
        file: join(import.meta.dirname, 'rules.json'),
        // Much shorter than you would want it: the sample has but a few seconds.
        throttle: { blocksToCooldown: 3, minCooldownMs: 1_000, maxCooldownMs: 2_000 },
        fetch: fetchFrom(ports),
      },
    });
    return { module: CrawlerModule, imports: [limits] };
  }
}
