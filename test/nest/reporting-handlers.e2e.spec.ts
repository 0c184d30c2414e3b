import 'reflect-metadata';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { Controller, Get, SetMetadata } from '@nestjs/common';
import { Query } from '@nestjs/graphql';
import { RateLimit, RateLimitModule, SkipRateLimit } from '../../lib/index.js';
import { bootApp, closeApps } from '../support/http-app.js';

const plans = { cap: { maxConcurrent: 1 }, default: '10/s' } as const;

const boot = (...controllers: Type[]) =>
  bootApp('express', { imports: [RateLimitModule.forRoot({ plans })], controllers });

afterEach(closeApps);

describe('handlers that may hold slots', () => {
  it('stay as they are until an application is made', () => {
    const find = () => 'found';
    const descriptor = { value: find, configurable: true, writable: true };
    class CatsController {}
    RateLimit('cap')(CatsController.prototype, 'find', descriptor);
    RateLimit('cap')(CatsController);
    expect(descriptor.value).toBe(find);
    expect(Object.getOwnPropertyNames(CatsController.prototype)).toEqual(['constructor']);
  });

  it('are replaced once for all applications, with their metadata', async () => {
    @Controller()
    class CatsController {
      @Get('cats')
      @RateLimit('cap')
      @SetMetadata('by', 'the user')
      find(name: string): string {
        return name;
      }
    }
    const prototype = CatsController.prototype as unknown as Record<string, Function>;
    const original = prototype['find']!;
    await boot(CatsController);
    const replacement = prototype['find']!;
    expect(replacement).not.toBe(original);
    expect([replacement.name, replacement.length]).toEqual(['find', 1]);
    expect(Reflect.getMetadata('by', replacement)).toBe('the user');
    expect(new CatsController().find('Tom')).toBe('Tom');
    await boot(CatsController);
    expect(prototype['find']).toBe(replacement);
  });

  it('are found in what a factory returns', async () => {
    class CatsResolver {
      @Query(() => String)
      @RateLimit({ plan: 'cap', phase: 'interceptor' })
      cat(): string {
        return 'Tom';
      }
    }
    const prototype = CatsResolver.prototype as unknown as Record<string, Function>;
    const original = prototype['cat'];
    await bootApp('express', {
      imports: [RateLimitModule.forRoot({ plans })],
      providers: [{ provide: 'cats', useFactory: () => Promise.resolve(new CatsResolver()) }],
    });
    expect(prototype['cat']).not.toBe(original);
  });

  it('are the only methods that are replaced', async () => {
    @Controller()
    class Base {
      @Get('rate')
      @RateLimit({ plan: '10/s' })
      rate(): void {}

      @Get('skipped')
      @SkipRateLimit()
      skipped(): void {}

      helper(): void {}

      @Get('capped')
      capped(): void {}
    }
    @Controller('sub')
    @RateLimit('cap')
    class Sub extends Base {}
    const before = Object.getOwnPropertyDescriptors(Base.prototype);
    await boot(Sub);
    const after = Object.getOwnPropertyDescriptors(Base.prototype);
    const names = ['rate', 'skipped', 'helper', 'capped'] as const;
    const replaced = names.filter((name) => after[name].value !== before[name].value);
    expect(replaced).toEqual(['capped']);
    expect(after.capped.enumerable).toBe(false);
  });
});
