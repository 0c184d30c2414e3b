import type { DynamicModule, OnApplicationShutdown } from '@nestjs/common';
import { Inject, Module } from '@nestjs/common';
import { RateLimitStats } from '../rate-limit-stats.js';
import type { PrometheusOptions } from './collect-rate-limit-metrics.js';
import { collectRateLimitMetrics } from './collect-rate-limit-metrics.js';

const OPTIONS = Symbol('nestjs-floodgate:prometheus-options');

/**
 * Adds the metrics of `RateLimitModule` to a registry of prom-client:
 * `imports: [RateLimitModule.forRoot(), RateLimitPrometheusModule.forRoot()]`.
 */
@Module({})
export class RateLimitPrometheusModule implements OnApplicationShutdown {
  readonly #remove: () => void;

  /** @internal Made by the module. */
  constructor(stats: RateLimitStats, @Inject(OPTIONS) options: PrometheusOptions) {
    this.#remove = collectRateLimitMetrics(stats, options);
  }

  /** Registers the module. Without options the metrics are on the global registry. */
  static forRoot(options: PrometheusOptions = {}): DynamicModule {
    return {
      module: RateLimitPrometheusModule,
      providers: [{ provide: OPTIONS, useValue: options }],
    };
  }

  /** Takes the metrics off the registry again. */
  onApplicationShutdown(): void {
    this.#remove();
  }
}
