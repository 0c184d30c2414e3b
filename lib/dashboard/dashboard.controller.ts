import type { Type } from '@nestjs/common';
import {
  Controller,
  Get,
  Injectable,
  Res,
  SetMetadata,
  UseGuards,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { SkipRateLimit } from '../nest/skip-rate-limit.decorator.js';
import { DATA_HEADERS, PAGE_HEADERS } from './dashboard-headers.js';
import type { CheckedDashboardOptions } from './dashboard-options.js';
import { DashboardSource } from './dashboard-source.js';
import { PAGE } from './page.js';

/** How @nestjs/swagger marks a controller that it leaves out; it need not be installed. */
const HIDDEN_FROM_SWAGGER = 'swagger/apiExcludeController';
const DATA = 'data.json';

/**
 * Answers with the page and its data. It answers by itself: interceptors of the application that wrap
 * what handlers return would break both.
 */
@Injectable()
class DashboardController {
  constructor(
    private readonly source: DashboardSource,
    private readonly host: HttpAdapterHost,
  ) {}

  @Get()
  page(@Res() response: unknown): void {
    this.#reply(response, PAGE_HEADERS, PAGE);
  }

  @Get(DATA)
  data(@Res() response: unknown): void {
    this.#reply(response, DATA_HEADERS, JSON.stringify(this.source.read()));
  }

  #reply(response: unknown, headers: Readonly<Record<string, string>>, body: string): void {
    const { httpAdapter } = this.host;
    for (const [name, value] of Object.entries(headers)) {
      httpAdapter.setHeader(response, name, value);
    }
    httpAdapter.reply(response, body, 200);
  }
}

/** The controller of one application, at its path and behind its guards. */
export function dashboardController({ path, guards }: CheckedDashboardOptions): Type {
  class RateLimitDashboardController extends DashboardController {}
  const decorators = [
    Controller({ path, version: VERSION_NEUTRAL }),
    UseGuards(...guards),
    SkipRateLimit(),
    SetMetadata(HIDDEN_FROM_SWAGGER, [true]),
  ];
  for (const decorate of decorators) decorate(RateLimitDashboardController);
  return RateLimitDashboardController;
}
