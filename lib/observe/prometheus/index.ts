export { RateLimitPrometheusModule } from './rate-limit-prometheus.module.js';
export { collectRateLimitMetrics } from './collect-rate-limit-metrics.js';
export type { PrometheusOptions } from './collect-rate-limit-metrics.js';
