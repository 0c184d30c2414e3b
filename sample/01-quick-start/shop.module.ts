import { setTimeout as pause } from 'node:timers/promises';
import { Controller, Get, Module } from '@nestjs/common';
import { RateLimit, RateLimitModule } from 'nestjs-floodgate';
import { RateLimitDashboardModule } from 'nestjs-floodgate/dashboard';
import { HelloController } from './app.module.js';
import { Traffic } from './traffic.js';

const visitor = (request: { headers: Record<string, string> }) => request.headers['x-visitor'];

/** Routes that are worth watching: a burst, a chain, a shadow, and work that takes a while. */
@Controller('shop')
class ShopController {
  @Get('search')
  @RateLimit({ plan: ['search', 'everything'], key: visitor })
  search() {
    return ['boots', 'hats'];
  }

  @Get('checkout')
  @RateLimit({ plan: ['checkout', 'tighter-checkout'], key: visitor })
  checkout() {
    return 'Thank you!';
  }

  @Get('export')
  @RateLimit({ plan: 'exports', key: visitor })
  async export() {
    await pause(400 + Math.random() * 1_200);
    return 'all of it';
  }
}

/** A shop, to be watched under traffic of its own. */
@Module({
  imports: [
    RateLimitModule.forRoot({
      plans: {
        search: { capacity: 12, tokensPerSecond: 6 },
        everything: { limit: 400, windowMs: 60_000 },
        checkout: '30/minute',
        'tighter-checkout': { limit: 12, windowMs: 60_000, shadow: true },
        exports: { maxConcurrent: 2 },
      },
      outbound: {
        domains: {
          'api.payments.test': { requestsPerSecond: 6, burstCapacity: 6, maxConcurrent: 8 },
          '*.shipping.test': { requestsPerSecond: 3, burstCapacity: 3 },
        },
        throttle: { minCooldownMs: 6_000, maxCooldownMs: 9_000 },
      },
      gateway: {
        server: { rateLimit: { maxQps: 90, maxConnections: 200 } },
        backends: [{ name: 'shop', rateLimit: { maxQps: 70, maxConnections: 20 } }],
        routes: [{ id: 'shop', host: '*', path: '/shop', backend: 'shop' }],
      },
    }),
    RateLimitDashboardModule.forRoot({ title: 'The shop' }),
  ],
  controllers: [HelloController, ShopController],
  providers: [Traffic],
})
export class ShopModule {}
