import 'reflect-metadata';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CanActivate, ExecutionContext, ModuleMetadata, Type } from '@nestjs/common';
import {
  Controller,
  Get,
  Injectable,
  Logger,
  Module,
  Scope,
  UnauthorizedException,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import type { ModuleRef } from '@nestjs/core';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { lastValueFrom, of } from 'rxjs';
import type { ChainOptions, PlanDefinition, PlanLinks } from '../../lib/index.js';
import {
  RateLimit,
  RateLimiter,
  RateLimitGuard,
  RateLimitInterceptor,
  RateLimitModule,
} from '../../lib/index.js';
import { GlobalRateLimitGuard } from '../../lib/nest/global-rate-limit.guard.js';
import { RateLimitEnforcer } from '../../lib/nest/rate-limit.enforcer.js';
import { FakeClock } from '../support/fake-clock.js';
import type { HttpApp, RequestOptions, StartOptions } from '../support/http-app.js';
import { adapters, closeApps, LogLines, startApp } from '../support/http-app.js';

const PLANS = {
  one: { capacity: 1, tokensPerSecond: 0.1 },
  two: { capacity: 2, tokensPerSecond: 0.1 },
  five: { capacity: 5, tokensPerSecond: 0.1 },
} satisfies Record<string, PlanDefinition>;

interface SentRequest {
  headers: Record<string, string | undefined>;
  user?: { id: string };
}

/** Lets in who says who they are, and answers 401 to everybody else. */
@Injectable()
class AuthGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<SentRequest>();
    const id = request.headers['x-user'];
    if (id === undefined) throw new UnauthorizedException();
    request.user = { id };
    return true;
  }
}

@Module({ providers: [{ provide: APP_GUARD, useClass: AuthGuard }] })
class AuthModule {}

@Injectable({ scope: Scope.REQUEST })
class RequestAuthGuard extends AuthGuard {}

const by = (user: string): RequestOptions => ({ headers: { 'x-user': user } });

/** How an application may be made to ask who is there. */
interface Authentication {
  readonly before?: NonNullable<ModuleMetadata['imports']>;
  readonly providers?: NonNullable<ModuleMetadata['providers']>;
  readonly configure?: StartOptions['configure'];
  readonly onClass?: ClassDecorator;
  readonly onMethod?: MethodDecorator;
}

const noClassDecorator: ClassDecorator = () => undefined;
const noMethodDecorator: MethodDecorator = () => undefined;

const authentications: readonly [name: string, authentication: Authentication][] = [
  [
    'a global guard of the root module',
    { providers: [{ provide: APP_GUARD, useClass: AuthGuard }] },
  ],
  ['a global guard of a module that comes first', { before: [AuthModule] }],
  [
    'a global guard made for each request',
    { providers: [{ provide: APP_GUARD, useClass: RequestAuthGuard }] },
  ],
  ['app.useGlobalGuards', { configure: (app) => app.useGlobalGuards(new AuthGuard()) }],
  ['a guard of the class', { onClass: UseGuards(AuthGuard) }],
  ['a guard of the method', { onMethod: UseGuards(AuthGuard) }],
];

let clock: FakeClock;

beforeEach(() => {
  clock = new FakeClock();
});

afterEach(closeApps);

describe.each(adapters)('phases on %s', (adapter) => {
  function start(
    controllers: Type[],
    { before = [], providers = [], configure }: Authentication = {},
    override?: StartOptions['override'],
  ): Promise<HttpApp> {
    return startApp(
      adapter,
      {
        imports: [...before, RateLimitModule.forRoot({ plans: PLANS, clock })],
        controllers,
        providers,
      },
      { ...(configure && { configure }), ...(override && { override }) },
    );
  }

  async function remaining(app: HttpApp, key: string, plan: string): Promise<number> {
    return (await app.provider(RateLimiter).peek(key, plan)).remainingTokens;
  }

  describe.each(authentications)('behind %s', (_, authentication) => {
    const { onClass = noClassDecorator, onMethod = noMethodDecorator } = authentication;

    function startWith(options: PlanLinks | ChainOptions): Promise<HttpApp> {
      @onClass
      @Controller()
      class AccountController {
        @Get()
        @onMethod
        @RateLimit(options)
        login(): string {
          return 'ok';
        }
      }
      return start([AccountController], authentication);
    }

    it('a login that answers 401 is limited by address', async () => {
      const app = await startWith('two');
      expect(await app.statuses(3, '/')).toEqual([401, 401, 429]);
      expect(await app.statuses(1, '/', { from: '127.0.0.2' })).toEqual([401]);
      expect(await app.statuses(1, '/', by('ann'))).toEqual([429]);
    });

    it('the principal is the key', async () => {
      const app = await startWith({ plan: 'one', key: 'principal' });
      expect(await app.statuses(2, '/', by('ann'))).toEqual([200, 429]);
      expect(await app.statuses(2, '/', by('bob'))).toEqual([200, 429]);
      expect(await app.statuses(2, '/')).toEqual([401, 401]);
      expect(await remaining(app, 'ip:127.0.0.1', 'one')).toBe(1);
    });

    it('an address may be counted only once the guards have run', async () => {
      const app = await startWith({ plan: 'two', phase: 'interceptor' });
      expect(await app.statuses(3, '/')).toEqual([401, 401, 401]);
      expect(await app.statuses(3, '/', by('ann'))).toEqual([200, 200, 429]);
    });

    it('a function may be asked before the guards run', async () => {
      const key = (request: SentRequest) => request.headers['x-device'];
      const app = await startWith({ plan: 'two', key, phase: 'guard' });
      const device = { headers: { 'x-device': 'd1' } };
      expect(await app.statuses(3, '/', device)).toEqual([401, 401, 429]);
    });
  });

  it('a class that limits before it authenticates is limited first as well', async () => {
    @Controller()
    @RateLimit('two')
    @UseGuards(AuthGuard)
    class AccountController {
      @Get()
      login(): string {
        return 'ok';
      }
    }
    const app = await start([AccountController]);
    expect(await app.statuses(3, '/')).toEqual([401, 401, 429]);
  });

  it('a principal that is asked for too early is counted by address', async () => {
    @Controller()
    @UseGuards(AuthGuard)
    class AccountController {
      @Get()
      @RateLimit({ plan: 'two', key: 'principal', phase: 'guard' })
      login(): string {
        return 'ok';
      }
    }
    const app = await start([AccountController]);
    expect(await app.statuses(1, '/', by('ann'))).toEqual([200]);
    expect(await app.statuses(2, '/', by('bob'))).toEqual([200, 429]);
  });

  it('plans and tokens that are functions may be asked before the guards run', async () => {
    @Controller()
    @UseGuards(AuthGuard)
    class AccountController {
      @Get()
      @RateLimit({ plan: () => Promise.resolve('five'), tokens: () => 3, phase: 'guard' })
      login(): string {
        return 'ok';
      }
    }
    const app = await start([AccountController]);
    expect(await app.statuses(2, '/')).toEqual([401, 429]);
  });

  it('the other global guards keep their order', async () => {
    const order: string[] = [];
    const noting = (name: string): CanActivate => ({
      canActivate: () => {
        order.push(name);
        return true;
      },
    });

    @Controller()
    class AccountController {
      @Get()
      @RateLimit('one')
      login(): string {
        return 'ok';
      }
    }
    const app = await start([AccountController], {
      providers: ['root 1', 'root 2'].map((name) => ({
        provide: APP_GUARD,
        useValue: noting(name),
      })),
      configure: (nest) => nest.useGlobalGuards(noting('used 1'), noting('used 2')),
    });
    expect(await app.statuses(2, '/')).toEqual([200, 429]);
    expect(order).toHaveLength(4);
    expect(order.filter((name) => name.startsWith('root'))).toEqual(['root 1', 'root 2']);
    expect(order.filter((name) => name.startsWith('used'))).toEqual(['used 1', 'used 2']);
  });

  it('a request is charged once, however often the guard and the interceptor are bound', async () => {
    @Controller()
    @UseGuards(RateLimitGuard, RateLimitGuard)
    @UseInterceptors(RateLimitInterceptor)
    class AccountController {
      @Get()
      @UseGuards(AuthGuard, RateLimitGuard)
      @UseInterceptors(RateLimitInterceptor, RateLimitInterceptor)
      @RateLimit('five')
      @RateLimit({ plan: 'five', key: 'principal' })
      login(): string {
        return 'ok';
      }
    }
    const app = await start([AccountController], {
      providers: [
        { provide: APP_GUARD, useClass: RateLimitGuard },
        { provide: APP_INTERCEPTOR, useClass: RateLimitInterceptor },
      ],
    });
    const { status, headers } = await app.get('/', by('ann'));
    expect(status).toBe(200);
    expect(headers['ratelimit-policy']).toBe('"five";q=5;w=50, "five";q=5;w=50');
    expect(await remaining(app, 'ip:127.0.0.1', 'five')).toBe(4);
    expect(await remaining(app, 'principal:ann', 'five')).toBe(4);
  });

  describe('a handler with limits in both', () => {
    @Controller()
    @UseGuards(AuthGuard)
    class AccountController {
      @Get()
      @RateLimit('five')
      @RateLimit({ plan: 'two', key: 'principal' })
      login(): string {
        return 'ok';
      }
    }

    it('tells both', async () => {
      const app = await start([AccountController]);
      const { headers } = await app.get('/', by('ann'));
      expect(headers['ratelimit-policy']).toBe('"five";q=5;w=50, "two";q=2;w=20');
      expect(headers['ratelimit']).toBe('"five";r=4;t=10, "two";r=1;t=10');
    });

    it('tells both when the later one denies', async () => {
      const app = await start([AccountController]);
      await app.statuses(2, '/', by('ann'));
      const { status, headers, json } = await app.get('/', by('ann'));
      expect(status).toBe(429);
      expect(json).toMatchObject({ plans: ['two'], retryAfterMs: 10_000 });
      expect(headers['retry-after']).toBe('10');
      expect(headers['ratelimit-policy']).toBe('"five";q=5;w=50, "two";q=2;w=20');
      expect(headers['ratelimit']).toBe('"five";r=2;t=30, "two";r=0;t=10');
    });

    it('tells and charges only the earlier one when that denies', async () => {
      const app = await start([AccountController]);
      expect(await app.statuses(5, '/')).toEqual([401, 401, 401, 401, 401]);
      const { status, headers } = await app.get('/', by('ann'));
      expect(status).toBe(429);
      expect(headers['ratelimit-policy']).toBe('"five";q=5;w=50');
      expect(headers['ratelimit']).toBe('"five";r=0;t=10');
      expect(await remaining(app, 'principal:ann', 'two')).toBe(2);
    });

    it('tells what the guard decided to those that another guard turned away', async () => {
      const app = await start([AccountController]);
      const { status, headers } = await app.get('/');
      expect(status).toBe(401);
      expect(headers['ratelimit']).toBe('"five";r=4;t=10');
    });
  });

  describe('a user’s own tests', () => {
    @Controller()
    @UseGuards(AuthGuard)
    class AccountController {
      @Get('address')
      @RateLimit('one')
      address(): string {
        return 'ok';
      }

      @Get('principal')
      @RateLimit({ plan: 'one', key: 'principal' })
      principal(): string {
        return 'ok';
      }
    }

    const passAll = { canActivate: () => true };
    const passOn: Pick<RateLimitInterceptor, 'intercept'> = {
      intercept: (_, next) => next.handle(),
    };

    it('may switch the guard off', async () => {
      const app = await start([AccountController], {}, (builder) =>
        builder.overrideGuard(RateLimitGuard).useValue(passAll),
      );
      expect(await app.statuses(2, '/address', by('ann'))).toEqual([200, 200]);
      expect(await app.statuses(2, '/principal', by('ann'))).toEqual([200, 429]);
    });

    it('may switch the interceptor off', async () => {
      const app = await start([AccountController], {}, (builder) =>
        builder.overrideInterceptor(RateLimitInterceptor).useValue(passOn),
      );
      expect(await app.statuses(2, '/address', by('ann'))).toEqual([200, 429]);
      expect(await app.statuses(2, '/principal', by('ann'))).toEqual([200, 200]);
    });

    it('may leave everything on', async () => {
      const app = await start([AccountController], {}, (builder) => builder);
      expect(await app.statuses(2, '/address', by('ann'))).toEqual([200, 429]);
      expect(await app.statuses(2, '/principal', by('ann'))).toEqual([200, 429]);
    });
  });

  it.each(['rmq', 'necord', 'telegraf'])('a context of type %s passes', async (type) => {
    @Controller()
    class AccountController {
      @Get()
      @RateLimit('one')
      @RateLimit({ plan: 'one', key: 'principal' })
      login(): string {
        return 'ok';
      }
    }
    const app = await start([AccountController]);
    const enforcer = app.provider(RateLimitEnforcer);
    const context = new ExecutionContextHost(
      [{ ip: '127.0.0.1' }, {}],
      AccountController,
      // eslint-disable-next-line @typescript-eslint/unbound-method -- as Nest hands it over
      AccountController.prototype.login,
    );
    context.setType(type);
    for (let i = 0; i < 3; i++) {
      expect(await new RateLimitGuard(enforcer).canActivate(context)).toBe(true);
      const handled = await new RateLimitInterceptor(enforcer).intercept(context, {
        handle: () => of('answer'),
      });
      expect(await lastValueFrom(handled)).toBe('answer');
    }
    expect(await remaining(app, 'ip:127.0.0.1', 'one')).toBe(1);
    expect(app.logs.debugs).toEqual([
      `Handlers of type "${type}" are not limited: they are left alone.`,
    ]);
  });
});

describe('the interceptor', () => {
  const INTERCEPTORS = '__interceptors__';

  function interceptorsOf(...decorators: MethodDecorator[]): unknown {
    class Handlers {
      handle(): void {}
    }
    const descriptor = Object.getOwnPropertyDescriptor(Handlers.prototype, 'handle')!;
    for (const decorate of decorators) decorate(Handlers.prototype, 'handle', descriptor);
    return Reflect.getMetadata(INTERCEPTORS, descriptor.value as object);
  }

  const late = () => 'x';

  it.each<PlanLinks | ChainOptions>([
    'one',
    ['one', 'two'],
    {},
    { key: 'all' },
    { key: ['header:x-api-key', 'ip'] },
    { plan: ['one', { plan: 'two', key: 'header:x-api-key', tokens: 2 }] },
    { key: 'principal', phase: 'guard' },
    { key: late, plan: late, phase: 'guard' },
  ])('is not attached to a handler that does not need it: %j', (options) => {
    expect(interceptorsOf(RateLimit(options))).toBeUndefined();
  });

  it.each<ChainOptions>([
    { key: 'principal' },
    { key: 'principal:email' },
    { key: 'tenant' },
    { key: late },
    { key: ['ip', 'principal'] },
    { plan: ['one', { plan: 'two', key: 'principal' }] },
    { plan: late },
    { tokens: () => 1 },
    { key: 'ip', phase: 'interceptor' },
  ])('is attached to a handler that may need it: %j', (options) => {
    expect(interceptorsOf(RateLimit(options))).toEqual([RateLimitInterceptor]);
  });

  it('is attached once', () => {
    const decorators = [
      RateLimit({ key: 'principal' }),
      RateLimit('one'),
      RateLimit({ key: late }),
    ];
    expect(interceptorsOf(...decorators)).toEqual([RateLimitInterceptor]);
  });

  it('is attached to a class that may need it', () => {
    @RateLimit({ key: 'principal' })
    class Late {}

    @RateLimit('one')
    class Early {}

    expect(Reflect.getMetadata(INTERCEPTORS, Late)).toEqual([RateLimitInterceptor]);
    expect(Reflect.getMetadata(INTERCEPTORS, Early)).toBeUndefined();
  });
});

describe('the global guard', () => {
  it('warns when it cannot go first', () => {
    const logs = new LogLines();
    Logger.overrideLogger(logs);
    new GlobalRateLimitGuard({} as ModuleRef).goFirst();
    expect(logs.warnings).toEqual([
      'Cannot put the rate limit guard before other global guards. If one of them answers 401, ' +
        'requests that it refuses are not limited: list RateLimitModule before its module.',
    ]);
  });
});
