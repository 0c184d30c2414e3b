import 'reflect-metadata';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import type { ChainOptions } from '../../lib/index.js';
import { RateLimit, RateLimitModule } from '../../lib/index.js';
import { bootApp, closeApps } from '../support/http-app.js';

afterEach(closeApps);

describe('a decorator that is wrong', () => {
  it.each([
    { plans: 'gold' },
    { plan: 'gold', token: 2 },
    { plan: [{ plan: 'gold', token: 2 }] },
    42,
  ])('does not boot: %j', async (options) => {
    @Controller()
    class Shop {
      @Get()
      @RateLimit(options as ChainOptions)
      buy(): string {
        return 'ok';
      }
    }
    await expect(
      bootApp('express', {
        imports: [RateLimitModule.forRoot({ plans: { gold: '5/s' } })],
        controllers: [Shop],
      }),
    ).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(/^@RateLimit on Shop\.buy: .*(plans|token|42)/),
    });
  });
});
