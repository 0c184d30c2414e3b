import { Injectable } from '@nestjs/common';
import type { HealthIndicatorResult } from '@nestjs/terminus';
import { HealthIndicatorService } from '@nestjs/terminus';
import { RateLimitStats } from '../rate-limit-stats.js';

/**
 * Tells whether limits are shared as they should be: up; degraded while the store does not answer and
 * requests are let pass or counted in this process alone; down while they are refused instead.
 * Versions of terminus that do not know `degraded` say up, with the same details.
 *
 * ```ts
 * @Get('health') @HealthCheck()
 * check() {
 *   return this.health.check([() => this.rateLimit.isHealthy('rateLimit')]);
 * }
 * ```
 */
@Injectable()
export class RateLimitHealthIndicator {
  constructor(
    private readonly stats: RateLimitStats,
    private readonly indicators: HealthIndicatorService,
  ) {}

  /**
   * Looks at the state of the store, under the key that the answer is to have. Asks no server: the
   * breakers know.
   */
  isHealthy<const Key extends string>(key: Key): HealthIndicatorResult<Key> {
    const { store } = this.stats.snapshot();
    const session = this.indicators.check(key);
    if (store.failingSinceAtMs === null) return session.up({ store: store.kind });
    const detail = {
      store: store.kind,
      onStoreFailure: store.onStoreFailure,
      failingSince: new Date(store.failingSinceAtMs).toISOString(),
      reason: store.servers.find(({ breaker }) => breaker === 'open')?.reason ?? '',
    };
    if (store.onStoreFailure === 'closed') return session.down(detail);
    return 'degraded' in session ? session.degraded(detail) : this.#up(key, detail);
  }

  #up<const Key extends string>(key: Key, detail: object): HealthIndicatorResult<Key> {
    return this.indicators.check(key).up({ ...detail, degraded: true });
  }
}
