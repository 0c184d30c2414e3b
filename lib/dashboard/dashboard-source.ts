import { hostname } from 'node:os';
import { performance } from 'node:perf_hooks';
import type { OnModuleInit } from '@nestjs/common';
import { Inject, Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { RateLimitError } from '../core/errors.js';
import { RateLimitStats } from '../observe/rate-limit-stats.js';
import { Configuration } from './configuration/configuration.js';
import type { DashboardData, ProcessFacts } from './dashboard-data.js';
import type { CheckedDashboardOptions } from './dashboard-options.js';

/** The options of the dashboard, checked. */
export const DASHBOARD_OPTIONS = Symbol('nestjs-floodgate:dashboard-options');

/** Gathers what the page shows. Nothing of it asks the store: looking costs the limits nothing. */
@Injectable()
export class DashboardSource implements OnModuleInit {
  readonly #process: ProcessFacts = {
    host: hostname(),
    pid: process.pid,
    environment: process.env['NODE_ENV'] ?? '',
    startedAtMs: Math.round(performance.timeOrigin),
  };
  #stats!: RateLimitStats;
  #configuration!: Configuration;

  constructor(
    private readonly modules: ModuleRef,
    @Inject(DASHBOARD_OPTIONS) private readonly options: CheckedDashboardOptions,
  ) {}

  onModuleInit(): void {
    try {
      this.#stats = this.modules.get(RateLimitStats, { strict: false });
    } catch {
      throw new RateLimitError(
        'NOT_CONFIGURED',
        'RateLimitDashboardModule has nothing to show: import RateLimitModule.forRoot() as well.',
      );
    }
    this.#configuration = Configuration.of(this.modules);
  }

  read(): DashboardData {
    const stats = this.#stats.snapshot();
    return {
      title: this.options.title,
      process: this.#process,
      stats,
      series: this.#stats.series(),
      configuration: this.#configuration.values(stats.plans),
    };
  }
}
