import type { DynamicModule } from '@nestjs/common';
import { Module } from '@nestjs/common';
import type { CheckedDashboardOptions, DashboardOptions } from './dashboard-options.js';
import { checkDashboardOptions, checkProtection } from './dashboard-options.js';
import { DASHBOARD_OPTIONS, DashboardSource } from './dashboard-source.js';
import { dashboardController } from './dashboard.controller.js';

/**
 * A page that shows live what the limits do. Import it beside `RateLimitModule`:
 * `RateLimitDashboardModule.forRoot({ guards: [AdminGuard] })`. It only shows: nothing can be changed.
 */
@Module({})
export class RateLimitDashboardModule {
  /** Adds the page. Outside development it does not boot without guards. */
  static forRoot(options: DashboardOptions = {}): DynamicModule {
    const checked = checkDashboardOptions(options);
    return {
      module: RateLimitDashboardModule,
      imports: [...checked.imports],
      controllers: [dashboardController(checked)],
      providers: [
        DashboardSource,
        { provide: DASHBOARD_OPTIONS, useFactory: () => protectedOptions(checked) },
      ],
    };
  }
}

/** When the application boots: by then the environment is read from wherever it is kept. */
function protectedOptions(options: CheckedDashboardOptions): CheckedDashboardOptions {
  checkProtection(options, process.env['NODE_ENV']);
  return options;
}
