import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { Controller, Get, Injectable, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { OutboundLimiter, RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';

interface Visit {
  headers: Record<string, string | undefined>;
  user?: { id: string };
}

/** Believes everybody, so that a limit by principal has somebody to count. */
@Injectable()
class TrustingGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const visit = context.switchToHttp().getRequest<Visit>();
    const id = visit.headers['x-user'];
    if (id !== undefined) visit.user = { id };
    return true;
  }
}

@Controller()
class PagesController {
  constructor(
    private readonly limiter: RateLimiter,
    private readonly outbound: OutboundLimiter,
  ) {}

  @Get('address')
  @RateLimit('2/minute')
  address(): string {
    return 'by address';
  }

  @Get('header')
  @RateLimit({ plan: 'bronze', key: 'header:x-api-key' })
  header(): string {
    return 'by header';
  }

  @Get('principal')
  @RateLimit({ plan: ['gold', 'bronze'], key: 'principal' })
  principal(): string {
    return 'by principal';
  }

  @Get('code')
  async code(): Promise<{ allowed: boolean; reason: string; remainingTokens: number }> {
    const { allowed, reason, remainingTokens } = await this.limiter.allow('ada', 'gold', 2);
    return { allowed, reason, remainingTokens };
  }

  @Get('outbound')
  async call(): Promise<{ allowed: boolean }[]> {
    const first = await this.outbound.allow('upstream.example');
    const second = await this.outbound.allow('https://UPSTREAM.example/again');
    return [first, second].map(({ allowed }) => ({ allowed }));
  }
}

@Module({
  imports: [
    RateLimitModule.forRoot({
      plans: {
        gold: { capacity: 5, tokensPerSecond: 0.001 },
        bronze: { limit: 1, windowMs: 60_000 },
      },
      outbound: { default: { requestsPerSecond: 0.1, burstCapacity: 1 } },
    }),
  ],
  controllers: [PagesController],
  providers: [{ provide: APP_GUARD, useClass: TrustingGuard }],
})
export class AppModule {}
