import { Controller, Get } from '@nestjs/common';
import type { ModuleMetadata } from '@nestjs/common';
import type { PolicyStats, RateLimitOptions, RateLimitSnapshot } from '../../lib/index.js';
import { RateLimit, RateLimitModule, RateLimitStats } from '../../lib/index.js';
import type { HttpApp } from '../support/http-app.js';
import { startApp } from '../support/http-app.js';

@Controller()
class Routes {
  @Get('pair')
  @RateLimit({ plan: ['gold', 'daily'], key: 'ip' })
  pair(): string {
    return 'ok';
  }

  @Get('closed')
  @RateLimit({ plan: 'closed', key: 'ip' })
  closed(): string {
    return 'ok';
  }

  @Get('tried')
  @RateLimit({ plan: ['tried', 'daily'], key: 'ip' })
  tried(): string {
    return 'ok';
  }
}

/** Nothing comes back while a test runs. */
export const PLANS = {
  gold: { limit: 5, windowMs: 86_400_000 },
  daily: { capacity: 100, tokensPerSecond: 0.0001 },
  closed: { capacity: 0, tokensPerSecond: 0 },
  tried: { capacity: 1, tokensPerSecond: 0.0001, shadow: true },
  slots: { maxConcurrent: 4 },
  steady: { capacity: 1, tokensPerSecond: 1 },
} as const;

/** An application with a route for each kind of answer. */
export function startObserved(
  options: RateLimitOptions = {},
  more: ModuleMetadata = {},
): Promise<HttpApp> {
  const imports = [RateLimitModule.forRoot({ plans: PLANS, ...options }), ...(more.imports ?? [])];
  const controllers = [Routes, ...(more.controllers ?? [])];
  return startApp('express', { ...more, imports, controllers });
}

export function snapshotOf(app: HttpApp): RateLimitSnapshot {
  return app.provider(RateLimitStats).snapshot();
}

/** What was counted under one name. */
export function planIn({ plans, gateway }: RateLimitSnapshot, name: string): PolicyStats {
  const found = [...plans, ...gateway].find(({ policy }) => policy === name);
  if (!found) throw new Error(`Nothing was counted under ${name}.`);
  return found;
}
