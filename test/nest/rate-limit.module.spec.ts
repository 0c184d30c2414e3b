import 'reflect-metadata';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { DynamicModule, Type } from '@nestjs/common';
import { Controller, Get, Injectable, Module } from '@nestjs/common';
import type {
  ChainOptions,
  PlanDefinition,
  PlanLinks,
  RateLimitOptions,
  RateLimitOptionsFactory,
} from '../../lib/index.js';
import {
  InMemoryPlanRegistry,
  LimitStore,
  MemoryStore,
  PlanRegistry,
  RateLimit,
  RateLimiter,
  RateLimitError,
  RateLimitModule,
} from '../../lib/index.js';
import { FakeClock } from '../support/fake-clock.js';
import { bootApp, closeApps, fakeIntervals, startApp } from '../support/http-app.js';

const OPTION_NAMES =
  '"plans", "registry", "redis", "keyPrefix", "deadlineMs", "onStoreFailure", "localShare", ' +
  '"denyCache", "store", "clock", "maxLimits", "keyResolvers", "onMissingKey", ' +
  '"ipv6PrefixBits", "keySecret", "headers", "problemDetails", "diagnostics", "sharedChanges", ' +
  '"graphql", "outbound", "gateway"';

@Controller()
class BareController {
  @Get('bare')
  @RateLimit()
  bare(): string {
    return 'ok';
  }

  @Get('gold')
  @RateLimit('gold')
  gold(): string {
    return 'ok';
  }
}

@Controller()
class InlineController {
  @Get()
  @RateLimit('2/hour')
  hello(): string {
    return 'ok';
  }
}

/** Plans that have to be waited for. */
class SlowRegistry extends PlanRegistry {
  constructor(readonly plans: Readonly<Record<string, PlanDefinition>>) {
    super();
  }

  override async find(name: string): Promise<PlanDefinition | undefined> {
    await new Promise(setImmediate);
    return this.plans[name];
  }

  override names(): Promise<readonly string[]> {
    return Promise.resolve(Object.keys(this.plans));
  }
}

const GOLD = { gold: { capacity: 3, tokensPerSecond: 1 } } satisfies Record<string, PlanDefinition>;

let clock: FakeClock;

beforeEach(() => {
  clock = new FakeClock();
});

afterEach(closeApps);

/** Starts the module with a controller that uses its plans. */
function start(module: DynamicModule, controller: Type = BareController) {
  return startApp('express', { imports: [module], controllers: [controller] });
}

/** Boots options that are expected to be wrong. */
function boot(options: object): Promise<unknown> {
  return bootApp('express', { imports: [RateLimitModule.forRoot(options)] });
}

describe('forRoot', () => {
  it('works without options', async () => {
    const app = await start(RateLimitModule.forRoot(), InlineController);
    expect(await app.statuses(3, '/')).toEqual([200, 200, 429]);
  });

  it('takes undefined for an option that was left out', async () => {
    const module = RateLimitModule.forRoot({ plans: undefined, headers: undefined });
    const app = await start(module, InlineController);
    const { headers } = await app.get('/');
    expect(headers['ratelimit-policy']).toBe('"2/hour";q=2;w=3600');
  });

  it('lets every module inject what it exports', async () => {
    @Injectable()
    class Billing {
      constructor(
        readonly limiter: RateLimiter,
        readonly registry: PlanRegistry,
        readonly plans: InMemoryPlanRegistry,
        readonly store: LimitStore,
      ) {}
    }

    @Module({ providers: [Billing] })
    class BillingModule {}

    const app = await bootApp('express', {
      imports: [BillingModule, RateLimitModule.forRoot({ plans: GOLD, clock })],
    });
    const { limiter, registry, plans, store } = app.provider(Billing);
    expect(await limiter.allow('user', 'gold')).toMatchObject({
      allowed: true,
      remainingTokens: 2,
    });
    expect(registry).toBe(plans);
    expect(plans.names()).toEqual(['default', 'gold']);
    expect(store).toBeInstanceOf(MemoryStore);
  });

  it('stays within its module when it is not to be global', async () => {
    @Injectable()
    class Billing {
      constructor(readonly limiter: RateLimiter) {}
    }

    @Module({ providers: [Billing] })
    class BillingModule {}

    const limits = RateLimitModule.forRoot({ plans: GOLD, isGlobal: false });
    await expect(bootApp('express', { imports: [limits, BillingModule] })).rejects.toThrow(
      /can't resolve dependencies of the Billing .*RateLimiter/s,
    );
  });

  it('is reached through a module that exports it when it is not to be global', async () => {
    @Module({
      imports: [RateLimitModule.forRoot({ plans: GOLD, isGlobal: false, clock })],
      exports: [RateLimitModule],
    })
    class LimitsModule {}

    @Module({ imports: [LimitsModule], controllers: [BareController] })
    class ShopModule {}

    const app = await startApp('express', { imports: [ShopModule] });
    expect(await app.statuses(4, '/gold')).toEqual([200, 200, 200, 429]);
  });
});

describe('forRootAsync', () => {
  const SETTINGS = Symbol('settings');

  @Injectable()
  class Settings implements RateLimitOptionsFactory {
    createRateLimitOptions(): Promise<RateLimitOptions> {
      return Promise.resolve({ plans: { gold: '2/hour' } });
    }
  }

  @Module({
    providers: [Settings, { provide: SETTINGS, useValue: { rate: '2/hour' } }],
    exports: [Settings, SETTINGS],
  })
  class SettingsModule {}

  it.each([
    [
      'a factory with what it injects',
      {
        imports: [SettingsModule],
        inject: [SETTINGS],
        useFactory: async ({ rate }: { rate: '2/hour' }): Promise<RateLimitOptions> => {
          await new Promise(setImmediate);
          return { plans: { gold: rate } };
        },
      },
    ],
    ['a class', { useClass: Settings }],
    ['an existing provider', { imports: [SettingsModule], useExisting: Settings }],
  ])('takes options from %s', async (_, options) => {
    const app = await start(RateLimitModule.forRootAsync(options));
    expect(await app.statuses(3, '/gold')).toEqual([200, 200, 429]);
  });

  it('checks what the factory returns', async () => {
    const module = RateLimitModule.forRootAsync({
      useFactory: () => ({ headers: 'draft-7' }) as unknown as RateLimitOptions,
    });
    await expect(bootApp('express', { imports: [module] })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: 'Expected `headers` to be "draft-11", "legacy" or false, got "draft-7".',
    });
  });

  it('can be kept within its module', async () => {
    @Injectable()
    class Billing {
      constructor(readonly limiter: RateLimiter) {}
    }

    @Module({ providers: [Billing] })
    class BillingModule {}

    const limits = RateLimitModule.forRootAsync({ isGlobal: false, useFactory: () => ({}) });
    await expect(bootApp('express', { imports: [limits, BillingModule] })).rejects.toThrow(
      /can't resolve dependencies of the Billing .*RateLimiter/s,
    );
  });
});

describe('an application that registers the module wrongly', () => {
  const twice = {
    code: 'REGISTERED_TWICE',
    message:
      'RateLimitModule is registered twice. Call forRoot() or forRootAsync() once, in the root ' +
      'module; it is global, so other modules need not import it.',
  };

  it('does not boot with two of them', async () => {
    const imports = [RateLimitModule.forRoot(), RateLimitModule.forRoot()];
    await expect(bootApp('express', { imports })).rejects.toMatchObject(twice);
  });

  it('does not boot when a feature module registers it again', async () => {
    @Module({ imports: [RateLimitModule.forRootAsync({ useFactory: () => ({}) })] })
    class FeatureModule {}

    const imports = [RateLimitModule.forRoot(), FeatureModule];
    await expect(bootApp('express', { imports })).rejects.toMatchObject(twice);
  });

  it('does not boot when the class itself is imported', async () => {
    await expect(bootApp('express', { imports: [RateLimitModule] })).rejects.toMatchObject({
      code: 'NOT_CONFIGURED',
      message:
        'RateLimitModule is imported without options. Write RateLimitModule.forRoot() instead.',
    });
  });

  it('does not boot when it limits and forgot the module', async () => {
    await expect(bootApp('express', { controllers: [BareController] })).rejects.toThrow(
      /can't resolve dependencies of the RateLimitGuard .*RateLimitEnforcer/s,
    );
  });
});

describe('an option that is wrong', () => {
  it.each<[name: string, expected: string, value: unknown, shown: string]>([
    ['plans', 'an object of plans by name', ['gold'], '["gold"]'],
    ['plans', 'an object of plans by name', 'gold', '"gold"'],
    ['plans', 'an object of plans by name', null, 'null'],
    ['registry', 'a PlanRegistry', { find: 1 }, '{"find":1}'],
    ['store', 'a LimitStore', 'redis', '"redis"'],
    ['store', 'a LimitStore', {}, '{}'],
    ['clock', 'a Clock', 1_000, '1000'],
    ['clock', 'a Clock', { nowUs: 5 }, '{"nowUs":5}'],
    ['maxLimits', 'a whole number from 100 to 100000000', 99, '99'],
    ['maxLimits', 'a whole number from 100 to 100000000', 100_000_001, '100000001'],
    ['maxLimits', 'a whole number from 100 to 100000000', 1_000.5, '1000.5'],
    ['maxLimits', 'a whole number from 100 to 100000000', '1000', '"1000"'],
    ['maxLimits', 'a whole number from 100 to 100000000', Number.NaN, 'NaN'],
    ['maxLimits', 'a whole number from 100 to 100000000', Infinity, 'Infinity'],
    ['keyResolvers', 'an object of key resolvers by name', ['ip'], '["ip"]'],
    ['keyResolvers', 'an object of key resolvers by name', () => 'x', 'a function'],
    ['onMissingKey', '"ip", "deny" or "skip"', 'allow', '"allow"'],
    ['onMissingKey', '"ip", "deny" or "skip"', false, 'false'],
    ['ipv6PrefixBits', 'a whole number from 32 to 128', 31, '31'],
    ['ipv6PrefixBits', 'a whole number from 32 to 128', 129, '129'],
    ['ipv6PrefixBits', 'a whole number from 32 to 128', '64', '"64"'],
    ['headers', '"draft-11", "legacy" or false', true, 'true'],
    ['headers', '"draft-11", "legacy" or false', 'draft-10', '"draft-10"'],
    ['problemDetails', 'true or false', 'yes', '"yes"'],
    ['problemDetails', 'true or false', 1, '1'],
    ['diagnostics', 'true or false', 'once', '"once"'],
    ['graphql', 'an object with "countBy"', 'field', '"field"'],
  ])('does not boot: %s, which is to be %s, with %p', async (name, expected, value, shown) => {
    await expect(boot({ [name]: value })).rejects.toMatchObject({
      name: 'InvalidOptionError',
      code: 'INVALID_OPTION',
      message: `Expected \`${name}\` to be ${expected}, got ${shown}.`,
    });
  });

  it.each([
    [
      { countBy: 'query' },
      'Expected `graphql.countBy` to be "selection", "execution", "operation" or "field", got "query".',
    ],
    [{ per: 'field' }, 'graphql: unknown field "per". Known fields: "countBy".'],
  ])('does not boot with GraphQL operations counted by %j', async (graphql, message) => {
    await expect(boot({ graphql })).rejects.toMatchObject({ code: 'INVALID_OPTION', message });
  });

  it.each([
    [{ file: 42 }, 'Expected `gateway.file` to be the path of a file, got 42.'],
    [{ file: '' }, 'Expected `gateway.file` to be the path of a file, got "".'],
    [{ file: undefined }, 'Expected `gateway.file` to be the path of a file, got undefined.'],
    [{ watch: false }, 'Expected `gateway.file` to be the path of a file, got undefined.'],
    [
      { file: 'g.yml', watch: 'false' },
      'Expected `gateway.watch` to be true or false, got "false".',
    ],
    [
      { file: 'g.yml', wacth: false },
      'gateway: unknown field "wacth". Did you mean "watch"? Known fields: "file", "watch".',
    ],
    [
      { file: 'g.yml', server: {} },
      'gateway: unknown field "server". Known fields: "file", "watch".',
    ],
  ])('does not boot with the gateway %j', async (gateway, message) => {
    await expect(boot({ gateway })).rejects.toMatchObject({ code: 'INVALID_OPTION', message });
  });

  it.each([
    [['hunter2'], 'object'],
    [12345678, 'number'],
    ['', 'string'],
  ])('never shows a secret: %j', async (keySecret, type) => {
    await expect(boot({ keySecret })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: `Expected \`keySecret\` to be a string that is not empty, got "${type}".`,
    });
  });

  it.each([
    ['plan', 'Did you mean "plans"? '],
    ['ttl', ''],
    ['constructor', ''],
    ['toString', ''],
  ])('does not boot when nobody knows it: %s', async (name, hint) => {
    await expect(boot({ [name]: 1 })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      path: [name],
      message: `Unknown option "${name}". ${hint}Known options: ${OPTION_NAMES}.`,
    });
  });

  it('does not boot with a plan that cannot work', async () => {
    await expect(
      boot({ plans: { gold: { capacity: -5, tokensPerSecond: 1 } } }),
    ).rejects.toMatchObject({
      code: 'INVALID_PLAN',
      message:
        'Plan "gold": capacity must be a whole number from 1 to 1000000000000 ' +
        '(or −1 for no limit, 0 to deny all), got -5.',
    });
  });

  it('does not boot with a key resolver under a name that is taken', async () => {
    await expect(boot({ keyResolvers: { ip: () => 'x' } })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message:
        'Expected `keyResolvers` to be named by letters, digits, "_" or "-", and not ' +
        'ip, principal, all, header, body, query, param, function, route, sha256, got "ip".',
    });
  });

  it('does not boot with a key resolver that stands for nothing known', async () => {
    await expect(boot({ keyResolvers: { tenant: 'tennant' } })).rejects.toMatchObject({
      code: 'UNKNOWN_KEY_RESOLVER',
      message:
        'Unknown key resolver "tennant". Known key resolvers: ' +
        '"ip", "principal", "all", "principal:<property>", "header:<name>", ' +
        '"body:<field>", "query:<field>", "param:<field>".',
    });
  });
});

describe('a decorator that is wrong', () => {
  const options: RateLimitOptions = {
    plans: { ...GOLD, slots: { maxConcurrent: 1 } },
    keyResolvers: { tenant: () => 'acme' },
  };

  function controllerWith(decorator: MethodDecorator): Type {
    @Controller()
    class Shop {
      @Get()
      @decorator
      buy(): string {
        return 'ok';
      }
    }
    return Shop;
  }

  function bootWith(chain: unknown, own: RateLimitOptions = options): Promise<unknown> {
    return bootApp('express', {
      imports: [RateLimitModule.forRoot(own)],
      controllers: [controllerWith(RateLimit(chain as ChainOptions))],
    });
  }

  it.each<[chain: PlanLinks | object, code: string, message: string]>([
    ['glod', 'UNKNOWN_PLAN', 'Unknown plan "glod". Known plans: "default", "gold", "slots".'],
    [
      ['gold', 'glod'],
      'UNKNOWN_PLAN',
      'Unknown plan "glod". Known plans: "default", "gold", "slots".',
    ],
    [
      ['gold', { plan: 'glod', key: 'all' }],
      'UNKNOWN_PLAN',
      'Unknown plan "glod". Known plans: "default", "gold", "slots".',
    ],
    ['', 'UNKNOWN_PLAN', 'Unknown plan "". Known plans: "default", "gold", "slots".'],
    [
      '5/fortnight',
      'UNKNOWN_PLAN',
      'Unknown plan "5/fortnight". Known plans: "default", "gold", "slots".',
    ],
    [
      { plan: 42 },
      'INVALID_OPTION',
      'Expected `plan` to be the name of a plan or { plan, key, tokens }, got 42.',
    ],
    [
      { plan: ['gold', { key: 'ip' }] },
      'INVALID_OPTION',
      'Expected `plan` to be the name of a plan or { plan, key, tokens }, got {"key":"ip"}.',
    ],
    [
      { plan: 'gold', key: 'tennant' },
      'UNKNOWN_KEY_RESOLVER',
      'Unknown key resolver "tennant". Known key resolvers: ' +
        '"ip", "principal", "all", "principal:<property>", "header:<name>", ' +
        '"body:<field>", "query:<field>", "param:<field>", "tenant".',
    ],
    [
      { plan: ['gold', { plan: 'gold', key: 'tennant' }] },
      'UNKNOWN_KEY_RESOLVER',
      'Unknown key resolver "tennant". Known key resolvers: ' +
        '"ip", "principal", "all", "principal:<property>", "header:<name>", ' +
        '"body:<field>", "query:<field>", "param:<field>", "tenant".',
    ],
    [
      { plan: 'gold', key: 'header:x api key' },
      'INVALID_OPTION',
      'Expected `key` to be the name of a header, such as "header:x-api-key", got "x api key".',
    ],
    [
      { plan: 'gold', tokens: 0 },
      'INVALID_TOKENS',
      'Expected tokens to be a whole number from 1 up, got 0.',
    ],
    [
      { plan: 'gold', tokens: 1.5 },
      'INVALID_TOKENS',
      'Expected tokens to be a whole number from 1 up, got 1.5.',
    ],
    [
      { plan: 'gold', tokens: Number.NaN },
      'INVALID_TOKENS',
      'Expected tokens to be a whole number from 1 up, got NaN.',
    ],
    [
      { plan: 'gold', tokens: '2' },
      'INVALID_TOKENS',
      'Expected tokens to be a whole number from 1 up, got "2".',
    ],
    [
      [{ plan: 'gold', tokens: -1 }],
      'INVALID_TOKENS',
      'Expected tokens to be a whole number from 1 up, got -1.',
    ],
    [
      { plan: 'gold', tokens: 4 },
      'INVALID_TOKENS',
      'no request can ever pass: it costs 4 tokens and plan "gold" holds 3. ' +
        'Lower tokens or raise the plan.',
    ],
    [
      ['5/minute', { plan: '2/minute', tokens: 3 }],
      'INVALID_TOKENS',
      'no request can ever pass: it costs 3 tokens and plan "2/minute" holds 2. ' +
        'Lower tokens or raise the plan.',
    ],
    [
      { plan: 'gold', phase: 'middleware' },
      'INVALID_OPTION',
      'Expected `phase` to be "guard" or "interceptor", got "middleware".',
    ],
    [
      { plan: 'gold', scope: 'global' },
      'INVALID_OPTION',
      'Expected `scope` to be "shared" or "route", got "global".',
    ],
    [
      { plan: 'gold', onMissingKey: 'allow' },
      'INVALID_OPTION',
      'Expected `onMissingKey` to be "ip", "deny" or "skip", got "allow".',
    ],
  ])('does not boot: %j', async (chain, code, message) => {
    const booting = bootWith(chain);
    await expect(booting).rejects.toBeInstanceOf(RateLimitError);
    await expect(booting).rejects.toMatchObject({
      code,
      message: `@RateLimit on Shop.buy: ${message}`,
    });
  });

  it('does not boot on a class either', async () => {
    @Controller()
    @RateLimit('glod')
    class Shop {
      @Get()
      buy(): string {
        return 'ok';
      }
    }
    const imports = [RateLimitModule.forRoot(options)];
    await expect(bootApp('express', { imports, controllers: [Shop] })).rejects.toThrow(
      '@RateLimit on Shop.buy: Unknown plan "glod". Known plans: "default", "gold", "slots".',
    );
  });

  it('does not boot when it makes the merge with its class wrong', async () => {
    @Controller()
    @RateLimit('gold')
    class Shop {
      @Get()
      @RateLimit({ tokens: 4 })
      buy(): string {
        return 'ok';
      }
    }
    const imports = [RateLimitModule.forRoot(options)];
    await expect(bootApp('express', { imports, controllers: [Shop] })).rejects.toThrow(
      '@RateLimit on Shop.buy: no request can ever pass',
    );
  });

  it('lists the plans of the registry as well', async () => {
    const registry = new SlowRegistry({ silver: '5/s', gold: '1/s' });
    await expect(bootWith('glod', { ...options, registry })).rejects.toThrow(
      'Unknown plan "glod". Known plans: "default", "gold", "slots", "silver".',
    );
  });

  it.each<PlanLinks | ChainOptions>([
    { plan: 'slots', tokens: 5 },
    { plan: '-1/s', tokens: 5 },
    { plan: '0/s', tokens: 5 },
    { plan: 'gold', tokens: 3 },
  ])('is not taken for one that is right: %j', async (chain) => {
    await expect(bootWith(chain)).resolves.toBeDefined();
  });
});

describe('the plans', () => {
  const ENV_NAMES = ['APP_RATE_LIMIT', 'APP_RATE_BURST'];
  const before = ENV_NAMES.map((name) => process.env[name]);

  beforeEach(() => {
    for (const name of ENV_NAMES) delete process.env[name];
  });

  afterEach(() => {
    ENV_NAMES.forEach((name, i) => {
      if (before[i] === undefined) delete process.env[name];
      else process.env[name] = before[i];
    });
  });

  it('have a default of 3 a second in bursts of 5', async () => {
    const app = await start(RateLimitModule.forRoot({ plans: GOLD, clock }));
    expect(await app.statuses(6, '/bare')).toEqual([200, 200, 200, 200, 200, 429]);
    clock.advanceMs(1_000);
    expect(await app.statuses(4, '/bare')).toEqual([200, 200, 200, 429]);
  });

  it('have the default that the environment asks for', async () => {
    process.env['APP_RATE_LIMIT'] = '0.5';
    process.env['APP_RATE_BURST'] = '2';
    const app = await start(RateLimitModule.forRoot({ plans: GOLD, clock }));
    const { headers } = await app.get('/bare');
    expect(headers['ratelimit-policy']).toBe('"default";q=2;w=4');
  });

  it('do not boot with a default that the environment asks for in vain', async () => {
    process.env['APP_RATE_LIMIT'] = 'fast';
    await expect(boot({})).rejects.toMatchObject({
      code: 'INVALID_PLAN',
      message: 'Plan "default": APP_RATE_LIMIT must be a number, got "fast".',
    });
  });

  it('may have a default of their own', async () => {
    process.env['APP_RATE_LIMIT'] = 'fast';
    const plans = { ...GOLD, default: '1/minute' } as const;
    const app = await start(RateLimitModule.forRoot({ plans, clock }));
    expect(await app.statuses(2, '/bare')).toEqual([200, 429]);
  });

  it('may come from a registry that has to be waited for', async () => {
    const registry = new SlowRegistry({ gold: '2/minute' });
    const app = await start(RateLimitModule.forRoot({ registry, clock }));
    expect(await app.statuses(3, '/gold')).toEqual([200, 200, 429]);
    expect(await app.provider(PlanRegistry).names()).toEqual(['default', 'gold']);
  });

  it('are those of the options before those of the registry', async () => {
    const registry = new SlowRegistry({ gold: '1/minute' });
    const app = await start(RateLimitModule.forRoot({ plans: GOLD, registry, clock }));
    expect(await app.statuses(4, '/gold')).toEqual([200, 200, 200, 429]);
  });

  it('may be raised while the application runs, and keep what was spent', async () => {
    const app = await start(RateLimitModule.forRoot({ plans: GOLD, clock }));
    expect(await app.statuses(2, '/gold')).toEqual([200, 200]);
    app.provider(InMemoryPlanRegistry).set('gold', { capacity: 10, tokensPerSecond: 2 });
    const { headers } = await app.get('/gold');
    expect(headers['ratelimit-policy']).toBe('"gold";q=10;w=5');
    expect(headers['ratelimit']).toBe('"gold";r=0;t=1');
    clock.advanceMs(10_000);
    expect((await app.get('/gold')).headers['ratelimit']).toBe('"gold";r=9;t=1');
  });

  it('may be lowered while the application runs', async () => {
    const app = await start(RateLimitModule.forRoot({ plans: GOLD, clock }));
    expect(await app.statuses(1, '/gold')).toEqual([200]);
    app.provider(InMemoryPlanRegistry).set('gold', { capacity: 1, tokensPerSecond: 1 });
    expect(await app.statuses(2, '/gold')).toEqual([200, 429]);
  });

  it('stay as they are when a new one is wrong', async () => {
    const app = await start(RateLimitModule.forRoot({ plans: GOLD, clock }));
    const plans = app.provider(InMemoryPlanRegistry);
    expect(() => plans.set('gold', { capacity: -2, tokensPerSecond: 1 })).toThrow('Plan "gold"');
    expect(await app.statuses(4, '/gold')).toEqual([200, 200, 200, 429]);
  });
});

describe('closing the application', () => {
  /** A store that tells whether it was closed. */
  class ClosableStore extends MemoryStore {
    closed = false;

    override close(): Promise<void> {
      this.closed = true;
      return Promise.resolve();
    }
  }

  beforeEach(fakeIntervals);

  afterEach(() => {
    jest.useRealTimers();
  });

  it('stops every timer, even while slots are held', async () => {
    const plans = { slots: { maxConcurrent: 2 } };
    const app = await bootApp('express', { imports: [RateLimitModule.forRoot({ plans, clock })] });
    const idle = jest.getTimerCount();
    const lease = await app.provider(RateLimiter).acquire('user', 'slots');
    expect(lease.allowed).toBe(true);
    expect(jest.getTimerCount()).toBe(idle + 1);
    await app.app.close();
    expect(jest.getTimerCount()).toBe(idle);
  });

  it('leaves a store open that was passed in: it may serve others', async () => {
    const store = new ClosableStore(clock);
    const app = await bootApp('express', { imports: [RateLimitModule.forRoot({ store })] });
    expect(app.provider(LimitStore)).toBe(store);
    expect(store.closed).toBe(false);
    await app.app.close();
    expect(store.closed).toBe(false);
  });
});
