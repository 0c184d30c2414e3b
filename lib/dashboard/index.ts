export { RateLimitDashboardModule } from './rate-limit-dashboard.module.js';
export type { DashboardGuard, DashboardImport, DashboardOptions } from './dashboard-options.js';
export type { DashboardData, ProcessFacts } from './dashboard-data.js';
export type {
  ConfigurationPart,
  ConfiguredValue,
  ValueSource,
} from './configuration/configured-value.js';
