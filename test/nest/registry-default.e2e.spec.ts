import 'reflect-metadata';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import type { PlanDefinition } from '../../lib/index.js';
import { PlanRegistry, RateLimit, RateLimitModule } from '../../lib/index.js';
import { FakeClock } from '../support/fake-clock.js';
import { closeApps, startApp } from '../support/http-app.js';

class Database extends PlanRegistry {
  override find(name: string): Promise<PlanDefinition | undefined> {
    return Promise.resolve(name === 'default' ? '1/minute' : undefined);
  }
}

afterEach(closeApps);

describe('a registry', () => {
  it('gives the default plan that the options do not name', async () => {
    @Controller()
    class ShopController {
      @Get()
      @RateLimit()
      hello(): string {
        return 'ok';
      }
    }
    const app = await startApp('express', {
      imports: [RateLimitModule.forRoot({ registry: new Database(), clock: new FakeClock() })],
      controllers: [ShopController],
    });
    expect(await app.statuses(2, '/')).toEqual([200, 429]);
  });
});
