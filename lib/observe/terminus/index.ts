export { RateLimitHealthIndicator } from './rate-limit.health-indicator.js';
