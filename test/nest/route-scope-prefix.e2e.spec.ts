import 'reflect-metadata';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { Controller, Get, Module } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { RateLimit, RateLimitModule } from '../../lib/index.js';
import { FakeClock } from '../support/fake-clock.js';
import { adapters, closeApps, startApp } from '../support/http-app.js';

afterEach(closeApps);

function usersModule(): Type {
  @Controller('users')
  class UsersController {
    @Get()
    @RateLimit({ plan: '1/minute', scope: 'route' })
    list(): string {
      return 'ok';
    }
  }

  @Module({ controllers: [UsersController] })
  class UsersModule {}
  return UsersModule;
}

describe.each(adapters)('routes on %s', (adapter) => {
  it('have buckets of their own when only their modules’ paths tell them apart', async () => {
    const [admin, shop] = [usersModule(), usersModule()];
    const app = await startApp(adapter, {
      imports: [
        RateLimitModule.forRoot({ clock: new FakeClock() }),
        admin,
        shop,
        RouterModule.register([
          { path: 'admin', module: admin },
          { path: 'shop', module: shop },
        ]),
      ],
    });
    expect(await app.statuses(2, '/admin/users')).toEqual([200, 429]);
    expect(await app.statuses(2, '/shop/users')).toEqual([200, 429]);
  });
});
