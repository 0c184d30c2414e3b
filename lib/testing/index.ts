export { TestClock } from './test-clock.js';
export { TestLimits } from './test-limits.js';
export type { ProviderOverrides } from './test-limits.js';
