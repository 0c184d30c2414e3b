import 'reflect-metadata';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { RateLimit, RateLimitModule } from '../../lib/index.js';
import { FakeClock } from '../support/fake-clock.js';
import { adapters, closeApps, startApp } from '../support/http-app.js';

afterEach(closeApps);

describe.each(adapters)('a field that is undefined on %s', (adapter) => {
  it('leaves that of the class, and a limit that is enforced', async () => {
    @Controller()
    @RateLimit({ plan: '1/minute', key: 'principal', phase: 'guard' })
    class ShopController {
      @Get('phase')
      @RateLimit({ phase: undefined })
      phase(): string {
        return 'ok';
      }

      @Get('plan')
      @RateLimit({ plan: undefined })
      plan(): string {
        return 'ok';
      }
    }
    const app = await startApp(adapter, {
      imports: [RateLimitModule.forRoot({ clock: new FakeClock() })],
      controllers: [ShopController],
    });
    expect(await app.statuses(2, '/phase')).toEqual([200, 429]);
    expect(await app.statuses(2, '/plan', { from: '127.0.0.2' })).toEqual([200, 429]);
  });
});
