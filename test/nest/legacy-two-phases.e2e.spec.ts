import 'reflect-metadata';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { RateLimit, RateLimitModule } from '../../lib/index.js';
import { FakeClock } from '../support/fake-clock.js';
import { adapters, closeApps, startApp } from '../support/http-app.js';

afterEach(closeApps);

describe.each(adapters)('legacy headers on %s', (adapter) => {
  it('tell the plan that said no, even when the guard’s plan has as few left', async () => {
    @Controller()
    class ShopController {
      @Get()
      @RateLimit('address')
      @RateLimit({ plan: 'user', key: () => 'ann' })
      hello(): string {
        return 'ok';
      }
    }
    const app = await startApp(adapter, {
      imports: [
        RateLimitModule.forRoot({
          plans: {
            address: { capacity: 2, tokensPerSecond: 1 },
            user: { capacity: 1, tokensPerSecond: 0.01 },
          },
          clock: new FakeClock(),
          headers: 'legacy',
        }),
      ],
      controllers: [ShopController],
    });
    await app.get('/');
    const { status, headers } = await app.get('/');
    expect(status).toBe(429);
    expect(headers['retry-after']).toBe('100');
    expect(headers['x-ratelimit-limit']).toBe('1');
    expect(headers['x-ratelimit-remaining']).toBe('0');
    expect(headers['x-ratelimit-reset']).toBe('100');
  });
});
