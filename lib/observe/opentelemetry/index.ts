export { RateLimitOpenTelemetryModule } from './rate-limit-opentelemetry.module.js';
export { observeRateLimits } from './observe-rate-limits.js';
export type { ObservedApplication, OpenTelemetryOptions } from './observe-rate-limits.js';
