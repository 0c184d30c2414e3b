import type { DynamicModule, OnApplicationShutdown } from '@nestjs/common';
import { Inject, Module } from '@nestjs/common';
import { RateLimitEvents } from '../rate-limit-events.js';
import { RateLimitStats } from '../rate-limit-stats.js';
import type { OpenTelemetryOptions } from './observe-rate-limits.js';
import { observeRateLimits } from './observe-rate-limits.js';

const OPTIONS = Symbol('nestjs-floodgate:opentelemetry-options');

/**
 * Hands the metrics of `RateLimitModule` to OpenTelemetry:
 * `imports: [RateLimitModule.forRoot(), RateLimitOpenTelemetryModule.forRoot()]`.
 */
@Module({})
export class RateLimitOpenTelemetryModule implements OnApplicationShutdown {
  readonly #end: () => void;

  /** @internal Made by the module. */
  constructor(
    stats: RateLimitStats,
    events: RateLimitEvents,
    @Inject(OPTIONS) options: OpenTelemetryOptions,
  ) {
    this.#end = observeRateLimits({ stats, events }, options);
  }

  /** Registers the module. Without options the global meter provider is used. */
  static forRoot(options: OpenTelemetryOptions = {}): DynamicModule {
    return {
      module: RateLimitOpenTelemetryModule,
      providers: [{ provide: OPTIONS, useValue: options }],
    };
  }

  /** Observes and records nothing any more. */
  onApplicationShutdown(): void {
    this.#end();
  }
}
