import 'reflect-metadata';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { Controller, Get } from '@nestjs/common';
import type { ChainOptions } from '../../lib/index.js';
import { RateLimit, RateLimitModule } from '../../lib/index.js';
import { FakeClock } from '../support/fake-clock.js';
import { adapters, closeApps, startApp } from '../support/http-app.js';

function limited(options: ChainOptions): Type {
  @Controller()
  class LimitedController {
    @Get()
    @RateLimit(options)
    hello(): string {
      return 'ok';
    }
  }
  return LimitedController;
}

afterEach(closeApps);

describe.each(adapters)('a key that is promised on %s', (adapter) => {
  const start = (options: ChainOptions) =>
    startApp(adapter, {
      imports: [RateLimitModule.forRoot({ clock: new FakeClock() })],
      controllers: [limited(options)],
    });

  it.each<[phase: 'guard' | 'interceptor']>([['guard'], ['interceptor']])(
    'fails the request alone when the promise fails: in the %s',
    async (phase) => {
      const key = () => Promise.reject(new Error('database away'));
      const app = await start({ plan: '5/s', key, phase });
      // Any promise that nobody handles fails the test, as it would end the process.
      expect(await app.statuses(2, '/')).toEqual([500, 500]);
      await new Promise(setImmediate);
    },
  );

  it('is asked for once, however many plans count by it', async () => {
    let asked = 0;
    const key = () => {
      asked++;
      return Promise.resolve('acme');
    };
    const app = await start({ plan: ['5/s', '10/m', '100/h'], key });
    await app.get('/');
    expect(asked).toBe(1);
  });

  it('is asked for once when it is at hand, beside tokens that are computed', async () => {
    let asked = 0;
    const key = () => {
      asked++;
      return 'acme';
    };
    const app = await start({ plan: ['5/s', '10/m'], key, tokens: () => 1 });
    await app.get('/');
    expect(asked).toBe(1);
  });
});
