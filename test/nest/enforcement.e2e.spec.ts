import 'reflect-metadata';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CanActivate, ExecutionContext, Type } from '@nestjs/common';
import { Controller, Get } from '@nestjs/common';
import type {
  ChainOptions,
  Decision,
  Inquiry,
  KeyResolver,
  KeySource,
  MissingKeyPolicy,
  PlanDefinition,
  PlanLinks,
  RateLimitOptions,
} from '../../lib/index.js';
import {
  MemoryStore,
  RateLimit,
  RateLimiter,
  RateLimitModule,
  SkipRateLimit,
} from '../../lib/index.js';
import { FakeClock } from '../support/fake-clock.js';
import type { HttpApp, RequestOptions, StartOptions } from '../support/http-app.js';
import { adapters, closeApps, startApp } from '../support/http-app.js';

const PLANS = {
  one: { capacity: 1, tokensPerSecond: 0.1 },
  two: { capacity: 2, tokensPerSecond: 0.1 },
  five: { capacity: 5, tokensPerSecond: 0.1 },
  open: { capacity: -1, tokensPerSecond: 1 },
  closed: { capacity: 0, tokensPerSecond: 1 },
  trial: { capacity: 1, tokensPerSecond: 0.1, shadow: true },
  closedTrial: { capacity: 0, tokensPerSecond: 1, shadow: true },
} satisfies Record<string, PlanDefinition>;

/** What the tests read of a request. */
interface SentRequest {
  headers: Record<string, string | undefined>;
  user?: { id: string; email: string };
}

/** Believes whatever user the request names. */
const authentication: CanActivate = {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<SentRequest>();
    const id = request.headers['x-user'];
    if (id !== undefined) request.user = { id, email: `${id}@example.com` };
    return true;
  },
};

const by = (user: string, from = '127.0.0.1'): RequestOptions => ({
  from,
  headers: { 'x-user': user },
});

/** Takes down what it is asked. */
class RecordingStore extends MemoryStore {
  readonly inquiries: Inquiry[] = [];

  override decide(inquiry: Inquiry): Decision {
    this.inquiries.push(inquiry);
    return super.decide(inquiry);
  }
}

/** A controller with one limited route. */
function limited(options: PlanLinks | ChainOptions): Type {
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

let clock: FakeClock;

beforeEach(() => {
  clock = new FakeClock();
});

afterEach(closeApps);

describe.each(adapters)('limits on %s', (adapter) => {
  function start(
    controllers: Type | Type[],
    options: RateLimitOptions = {},
    starting: StartOptions = {},
  ): Promise<HttpApp> {
    return startApp(
      adapter,
      {
        imports: [RateLimitModule.forRoot({ plans: PLANS, clock, ...options })],
        controllers: Array.isArray(controllers) ? controllers : [controllers],
      },
      { configure: (app) => app.useGlobalGuards(authentication), ...starting },
    );
  }

  /** What is left of a plan for a key. */
  async function remaining(app: HttpApp, key: string, plan: string): Promise<number> {
    return (await app.provider(RateLimiter).peek(key, plan)).remainingTokens;
  }

  describe('a plan', () => {
    it('lets through what it holds, and what comes back', async () => {
      const app = await start(limited('two'));
      expect(await app.statuses(3, '/')).toEqual([200, 200, 429]);
      clock.advanceMs(9_999);
      expect(await app.statuses(1, '/')).toEqual([429]);
      clock.advanceMs(1);
      expect(await app.statuses(2, '/')).toEqual([200, 429]);
    });

    it('may be a rate', async () => {
      const app = await start(limited('5/10s'));
      expect(await app.statuses(6, '/')).toEqual([200, 200, 200, 200, 200, 429]);
      clock.advanceMs(2_000);
      expect(await app.statuses(2, '/')).toEqual([200, 429]);
    });

    it('costs as many tokens as the decorator says', async () => {
      const app = await start(limited({ plan: 'five', tokens: 2 }));
      expect(await app.statuses(3, '/')).toEqual([200, 200, 429]);
      expect(await remaining(app, 'ip:127.0.0.1', 'five')).toBe(1);
    });

    it('of −1 limits nothing and is not told', async () => {
      const app = await start(limited('open'));
      const { status, headers } = await app.get('/');
      expect(status).toBe(200);
      expect(headers).not.toHaveProperty('ratelimit');
      expect(headers).not.toHaveProperty('ratelimit-policy');
    });

    it('of 0 denies everything, for ever', async () => {
      const app = await start(limited(['five', 'closed']));
      const { status, headers, json } = await app.get('/');
      expect(status).toBe(429);
      expect(headers).not.toHaveProperty('retry-after');
      expect(json).toEqual({
        statusCode: 429,
        message: 'Requests of this kind are not allowed.',
        error: 'Too Many Requests',
        plans: ['closed'],
        retryAfterMs: null,
      });
      expect(await remaining(app, 'ip:127.0.0.1', 'five')).toBe(5);
    });

    it('that is a shadow never denies', async () => {
      const app = await start(limited(['trial', 'closedTrial', 'two']));
      expect(await app.statuses(3, '/')).toEqual([200, 200, 429]);
      expect(await remaining(app, 'ip:127.0.0.1', 'two')).toBe(0);
    });
  });

  describe('a chain', () => {
    it('charges every plan', async () => {
      const app = await start(limited(['two', 'five']));
      await app.get('/');
      expect(await remaining(app, 'ip:127.0.0.1', 'two')).toBe(1);
      expect(await remaining(app, 'ip:127.0.0.1', 'five')).toBe(4);
    });

    it.each([['two', 'five'] as const, ['five', 'two'] as const])(
      'charges nothing when one plan says no: %j',
      async (...plans) => {
        const app = await start(limited(plans));
        expect(await app.statuses(6, '/')).toEqual([200, 200, 429, 429, 429, 429]);
        expect(await remaining(app, 'ip:127.0.0.1', 'five')).toBe(3);
      },
    );

    it('may count each plan by a key of its own', async () => {
      const app = await start(limited({ plan: [{ plan: 'two', key: 'all' }, 'one'] }));
      expect(await app.statuses(2, '/', { from: '127.0.0.2' })).toEqual([200, 429]);
      expect(await app.statuses(1, '/', { from: '127.0.0.3' })).toEqual([200]);
      expect(await app.statuses(1, '/', { from: '127.0.0.4' })).toEqual([429]);
      expect(await remaining(app, 'ip:127.0.0.4', 'one')).toBe(1);
      expect(await remaining(app, 'all', 'two')).toBe(0);
    });

    it('may charge each plan tokens of its own', async () => {
      const app = await start(limited({ plan: ['five', { plan: 'two', tokens: 2 }], tokens: 3 }));
      expect(await app.statuses(1, '/')).toEqual([200]);
      expect(await remaining(app, 'ip:127.0.0.1', 'five')).toBe(2);
      expect(await remaining(app, 'ip:127.0.0.1', 'two')).toBe(0);
    });
  });

  describe('an address', () => {
    it('has buckets of its own', async () => {
      const app = await start(limited('one'));
      expect(await app.statuses(2, '/', { from: '127.0.0.2' })).toEqual([200, 429]);
      expect(await app.statuses(2, '/', { from: '127.0.0.3' })).toEqual([200, 429]);
    });

    it.each(['x-forwarded-for', 'x-real-ip', 'forwarded', 'cf-connecting-ip', 'true-client-ip'])(
      'is not changed by %s',
      async (name) => {
        const app = await start(limited('one'));
        expect(await app.statuses(1, '/')).toEqual([200]);
        expect(await app.statuses(1, '/', { headers: { [name]: '6.6.6.6' } })).toEqual([429]);
        expect(await app.statuses(1, '/', { headers: { [name]: 'for=6.6.6.7' } })).toEqual([429]);
      },
    );

    it('is the one that a trusted proxy tells', async () => {
      const app = await start(limited('one'), {}, { trustProxy: true });
      const forwarded = (address: string) => ({ headers: { 'x-forwarded-for': address } });
      expect(await app.statuses(2, '/', forwarded('6.6.6.6'))).toEqual([200, 429]);
      expect(await app.statuses(1, '/', forwarded('6.6.6.7'))).toEqual([200]);
      expect(await app.statuses(1, '/', forwarded('::ffff:606:606'))).toEqual([429]);
      expect(await app.statuses(1, '/', forwarded('2001:db8:1:2::1'))).toEqual([200]);
      expect(await app.statuses(1, '/', forwarded('2001:db8:1:2::ffff'))).toEqual([429]);
      expect(await app.statuses(1, '/', forwarded('2001:db8:1:3::1'))).toEqual([200]);
    });

    it('is that of the socket when the proxy tells none', async () => {
      const app = await start(limited('one'), {}, { trustProxy: true });
      const garbage = ['not-an-ip', '1.2.3', 'a'.repeat(2_000)];
      expect(await app.statuses(1, '/', { from: '127.0.0.9' })).toEqual([200]);
      for (const address of garbage) {
        const request = { from: '127.0.0.9', headers: { 'x-forwarded-for': address } };
        expect(await app.statuses(1, '/', request)).toEqual([429]);
      }
    });
  });

  describe('a key', () => {
    const apiKey: typeof by = (value, from) => ({ from, headers: { 'x-api-key': value } });
    const userResolver: KeyResolver = {
      prefix: 'user',
      phase: 'guard',
      resolve: ({ headers }) => headers?.['x-user'],
    };
    const keyResolvers = { tenant: (request: SentRequest) => request.headers['x-user'] };

    it.each<[name: string, key: KeySource, subject: typeof by]>([
      ['the principal', 'principal', by],
      ['a property of the principal', 'principal:email', by],
      ['a header', 'header:x-api-key', apiKey],
      ['a registered resolver', 'tenant', by],
      ['a function', (request: SentRequest) => request.user?.id, by],
      ['a promise', (request: SentRequest) => Promise.resolve(request.user?.email), by],
      ['a resolver', userResolver, by],
      ['the first of a list', ['header:x-other', 'principal', 'ip'], by],
    ])('may be %s', async (_, key, subject) => {
      const app = await start(limited({ plan: 'one', key }), { keyResolvers });
      expect(await app.statuses(1, '/', subject('ann', '127.0.0.2'))).toEqual([200]);
      expect(await app.statuses(1, '/', subject('ann', '127.0.0.3'))).toEqual([429]);
      expect(await app.statuses(1, '/', subject('bob', '127.0.0.2'))).toEqual([200]);
    });

    it('may be everybody', async () => {
      const app = await start(limited({ plan: 'two', key: 'all' }));
      expect(await app.statuses(1, '/', by('ann', '127.0.0.2'))).toEqual([200]);
      expect(await app.statuses(1, '/', by('bob', '127.0.0.3'))).toEqual([200]);
      expect(await app.statuses(1, '/', by('cid', '127.0.0.4'))).toEqual([429]);
    });

    it('may read the execution context', async () => {
      const key = (_: unknown, context: ExecutionContext) => context.getHandler().name;
      const app = await start(limited({ plan: 'one', key }));
      await app.get('/');
      expect(await remaining(app, 'function.key:hello', 'one')).toBe(0);
    });

    it('is never the header in clear', async () => {
      const store = new RecordingStore(clock);
      const secret = 'sk-live-0123456789';
      const app = await start(limited({ plan: 'one', key: 'header:x-api-key' }), {
        store,
        keySecret: 'pepper',
      });
      await app.get('/', { headers: { 'x-api-key': secret } });
      expect(store.inquiries).toHaveLength(1);
      expect(JSON.stringify(store.inquiries)).not.toContain(secret);
    });

    it('that names a user is not an address of the same text', async () => {
      const app = await start(limited({ plan: 'one', key: 'principal' }));
      expect(await app.statuses(1, '/', by('127.0.0.2', '127.0.0.3'))).toEqual([200]);
      expect(await app.statuses(1, '/', { from: '127.0.0.2' })).toEqual([200]);
    });

    it('that fails lets nobody through', async () => {
      const key = () => {
        throw new Error('no tenant');
      };
      const app = await start(limited({ plan: 'one', key }));
      expect(await app.statuses(1, '/')).toEqual([500]);
      expect(app.logs.errors).toEqual(['Error: no tenant']);
    });
  });

  describe('a request without a key', () => {
    const chain = { plan: 'one', key: 'header:x-api-key' } as const;

    it('counts by its address', async () => {
      const app = await start(limited(chain));
      expect(await app.statuses(2, '/', { from: '127.0.0.2' })).toEqual([200, 429]);
      expect(await app.statuses(1, '/', { from: '127.0.0.3' })).toEqual([200]);
      expect(await remaining(app, 'ip:127.0.0.2', 'one')).toBe(0);
    });

    it.each<[policy: MissingKeyPolicy, statuses: number[]]>([
      ['ip', [200, 429]],
      ['deny', [403, 403]],
      ['skip', [200, 200]],
    ])('is treated as the module says: %s', async (onMissingKey, statuses) => {
      const app = await start(limited(chain), { onMissingKey });
      expect(await app.statuses(2, '/')).toEqual(statuses);
    });

    it.each<[policy: MissingKeyPolicy, module: MissingKeyPolicy, statuses: number[]]>([
      ['ip', 'deny', [200, 429]],
      ['deny', 'skip', [403, 403]],
      ['skip', 'deny', [200, 200]],
    ])('is treated as the decorator says: %s, not %s', async (onMissingKey, module, statuses) => {
      const app = await start(limited({ ...chain, onMissingKey }), { onMissingKey: module });
      expect(await app.statuses(2, '/')).toEqual(statuses);
    });

    it('is treated the same once the guards have run', async () => {
      const plan: PlanLinks = [{ plan: 'two', key: 'all' }, 'one'];
      const late = (onMissingKey: MissingKeyPolicy) =>
        limited({ plan, key: (request: SentRequest) => request.user?.id, onMissingKey });
      const denying = await start(late('deny'));
      expect(await denying.statuses(1, '/')).toEqual([403]);
      expect(await remaining(denying, 'all', 'two')).toBe(2);
      const skipping = await start(late('skip'));
      expect(await skipping.statuses(3, '/')).toEqual([200, 200, 429]);
    });

    it('is told why it is refused', async () => {
      const app = await start(limited({ ...chain, onMissingKey: 'deny' }));
      const { headers, json } = await app.get('/');
      expect(json).toEqual({
        statusCode: 403,
        message: 'This request does not tell who makes it.',
        error: 'Forbidden',
      });
      expect(headers).not.toHaveProperty('ratelimit');
    });
  });

  describe('a function of the request', () => {
    const chosen = (request: SentRequest) => request.headers['x-plan'];
    const cost = (request: SentRequest) => Number(request.headers['x-cost'] ?? 1);
    const choose = (plan: string): RequestOptions => ({ headers: { 'x-plan': plan } });
    const spend = (tokens: number): RequestOptions => ({ headers: { 'x-cost': String(tokens) } });

    it.each<[name: string, options: ChainOptions]>([
      ['at once', { plan: chosen }],
      ['later', { plan: (request: SentRequest) => Promise.resolve(chosen(request)) }],
    ])('chooses the plan %s', async (_, options) => {
      const app = await start(limited(options));
      expect(await app.statuses(2, '/', choose('one'))).toEqual([200, 429]);
      expect(await app.statuses(3, '/', choose('two'))).toEqual([200, 200, 429]);
      expect(await app.statuses(2, '/', choose('1/minute'))).toEqual([200, 429]);
      expect(await app.statuses(6, '/')).toEqual([200, 200, 200, 200, 200, 200]);
    });

    it.each([null, undefined, []])('chooses no limit by returning %j', async (nothing) => {
      const app = await start(limited({ plan: () => nothing }));
      const { status, headers } = await app.get('/');
      expect(status).toBe(200);
      expect(headers).not.toHaveProperty('ratelimit');
    });

    it('chooses a chain with keys and tokens of its own', async () => {
      const plan = (): PlanLinks => [
        { plan: 'two', key: 'all' },
        { plan: 'five', tokens: 3 },
      ];
      const app = await start(limited({ plan, key: 'principal' }));
      expect(await app.statuses(2, '/', by('ann'))).toEqual([200, 429]);
      expect(await app.statuses(1, '/', by('bob'))).toEqual([200]);
      expect(await remaining(app, 'principal:ann', 'five')).toBe(2);
      expect(await remaining(app, 'all', 'two')).toBe(0);
    });

    it('is told the request and the context', async () => {
      const plan = (request: SentRequest, context: ExecutionContext) =>
        request.user && context.getHandler().name === 'hello' ? 'one' : 'closed';
      const app = await start(limited({ plan, key: 'principal' }));
      expect(await app.statuses(2, '/', by('ann'))).toEqual([200, 429]);
    });

    it.each<[name: string, options: ChainOptions]>([
      ['plan', { plan: ({ user }: SentRequest) => (user ? 'one' : 'closed') }],
      ['tokens', { plan: 'one', tokens: ({ user }: SentRequest) => (user ? 1 : 2) }],
    ])('for the %s knows who was authenticated', async (_, options) => {
      const app = await start(limited(options));
      expect(await app.statuses(2, '/', by('ann'))).toEqual([200, 429]);
    });

    it.each<[name: string, options: ChainOptions]>([
      ['at once', { plan: 'five', tokens: cost }],
      ['later', { plan: 'five', tokens: (request: SentRequest) => Promise.resolve(cost(request)) }],
    ])('computes the tokens %s', async (_, options) => {
      const app = await start(limited(options));
      expect(await app.statuses(1, '/', spend(3))).toEqual([200]);
      expect(await app.statuses(1, '/', spend(3))).toEqual([429]);
      expect(await app.statuses(2, '/', spend(1))).toEqual([200, 200]);
    });

    it('may ask for more than a plan can ever hold', async () => {
      const app = await start(limited({ plan: 'five', tokens: cost }));
      const { status, headers, json } = await app.get('/', spend(6));
      expect(status).toBe(429);
      expect(headers).not.toHaveProperty('retry-after');
      expect(headers['cache-control']).toBe('no-store');
      expect(json).toEqual({
        statusCode: 429,
        message: 'This request costs more than its limit can ever allow.',
        error: 'Too Many Requests',
        plans: ['five'],
        retryAfterMs: null,
      });
      expect(await remaining(app, 'ip:127.0.0.1', 'five')).toBe(5);
    });

    it.each(['0', '-1', '1.5', 'NaN', 'Infinity'])(
      'that costs %s lets nobody through',
      async (tokens) => {
        const app = await start(limited({ plan: 'five', tokens: cost }));
        expect(await app.statuses(1, '/', { headers: { 'x-cost': tokens } })).toEqual([500]);
        expect(app.logs.errors.join()).toContain('Expected tokens to be a whole number from 1 up');
        expect(await remaining(app, 'ip:127.0.0.1', 'five')).toBe(5);
      },
    );

    it('that chooses an unknown plan lets nobody through', async () => {
      const app = await start(limited({ plan: chosen }));
      expect(await app.statuses(1, '/', choose('glod'))).toEqual([500]);
      expect(app.logs.errors.join()).toContain(
        'Unknown plan "glod". Known plans: "default", "one"',
      );
    });
  });

  describe('routes', () => {
    /** Two controllers that only their paths tell apart. */
    function twins(scope?: 'shared' | 'route'): Type[] {
      return ['left', 'right'].map((path) => {
        @Controller(path)
        class Twin {
          @Get('a')
          @RateLimit({ plan: 'one', scope })
          list(): string {
            return 'ok';
          }

          @Get('b')
          @RateLimit({ plan: 'one', scope })
          find(): string {
            return 'ok';
          }
        }
        return Twin;
      });
    }

    it.each([undefined, 'shared'] as const)('share the buckets of a plan: %s', async (scope) => {
      const app = await start(twins(scope));
      expect(await app.statuses(1, '/left/a')).toEqual([200]);
      expect(await app.statuses(1, '/left/b')).toEqual([429]);
      expect(await app.statuses(1, '/right/a')).toEqual([429]);
    });

    it('have buckets of their own, even under the same names', async () => {
      const app = await start(twins('route'));
      for (const path of ['/left/a', '/left/b', '/right/a', '/right/b']) {
        expect(await app.statuses(2, path)).toEqual([200, 429]);
      }
      expect(await app.statuses(1, '/left/a', { from: '127.0.0.2' })).toEqual([200]);
    });

    it('have no new buckets by another way to write their path', async () => {
      @Controller()
      class ItemsController {
        @Get('items/:id')
        @RateLimit({ plan: 'one', scope: 'route' })
        find(): string {
          return 'ok';
        }
      }
      const app = await start(ItemsController);
      expect(await app.statuses(1, '/items/1')).toEqual([200]);
      for (const path of ['/items/2', '/items/1?x=1', '/items/%31']) {
        expect(await app.statuses(1, path)).toEqual([429]);
      }
    });
  });

  describe('a class', () => {
    it('limits every handler', async () => {
      @Controller()
      @RateLimit('two')
      class ShopController {
        @Get('a')
        a(): string {
          return 'ok';
        }

        @Get('b')
        b(): string {
          return 'ok';
        }
      }
      const app = await start(ShopController);
      expect(await app.statuses(1, '/a')).toEqual([200]);
      expect(await app.statuses(2, '/b')).toEqual([200, 429]);
    });

    it('gives each field that the method leaves out', async () => {
      @Controller()
      @RateLimit({ plan: 'five', key: 'principal', tokens: 2 })
      class ShopController {
        @Get('inherit')
        @RateLimit({})
        inherit(): string {
          return 'ok';
        }

        @Get('cheap')
        @RateLimit({ tokens: 1 })
        cheap(): string {
          return 'ok';
        }

        @Get('other')
        @RateLimit('two')
        other(): string {
          return 'ok';
        }

        @Get('address')
        @RateLimit({ key: 'ip' })
        address(): string {
          return 'ok';
        }
      }
      const app = await start(ShopController);
      const five = () => remaining(app, 'principal:ann', 'five');
      expect(await app.statuses(1, '/inherit', by('ann'))).toEqual([200]);
      expect(await five()).toBe(3);
      expect(await app.statuses(1, '/cheap', by('ann'))).toEqual([200]);
      expect(await five()).toBe(2);
      expect(await app.statuses(1, '/other', by('ann'))).toEqual([200]);
      expect(await five()).toBe(2);
      expect(await remaining(app, 'principal:ann', 'two')).toBe(0);
      expect(await app.statuses(1, '/address', by('ann'))).toEqual([200]);
      expect(await five()).toBe(2);
      expect(await remaining(app, 'ip:127.0.0.1', 'five')).toBe(3);
    });

    it('is laid under the decorators of the method by position', async () => {
      @Controller()
      @RateLimit({ plan: 'five', tokens: 2 })
      @RateLimit({ plan: 'two', key: 'all' })
      class ShopController {
        @Get('first')
        @RateLimit({ tokens: 1 })
        first(): string {
          return 'ok';
        }

        @Get('second')
        @RateLimit({})
        @RateLimit({ plan: 'one' })
        second(): string {
          return 'ok';
        }

        @Get('third')
        @RateLimit({})
        @RateLimit({})
        @RateLimit({ plan: 'trial', key: 'principal' })
        third(): string {
          return 'ok';
        }
      }
      const app = await start(ShopController);
      const left = async () => [
        await remaining(app, 'ip:127.0.0.1', 'five'),
        await remaining(app, 'all', 'two'),
        await remaining(app, 'all', 'one'),
      ];
      expect(await app.statuses(1, '/first')).toEqual([200]);
      expect(await left()).toEqual([4, 1, 1]);
      expect(await app.statuses(1, '/second')).toEqual([200]);
      expect(await left()).toEqual([2, 1, 0]);
      expect(await app.statuses(1, '/third', by('ann'))).toEqual([200]);
      expect(await left()).toEqual([0, 0, 0]);
    });

    it('hands its limits down to those that extend it', async () => {
      @RateLimit('one')
      class BaseController {
        @Get()
        hello(): string {
          return 'ok';
        }
      }

      @Controller('plain')
      class PlainController extends BaseController {}

      @Controller('strict')
      @RateLimit('closed')
      class StrictController extends BaseController {}

      const app = await start([PlainController, StrictController]);
      expect(await app.statuses(2, '/plain')).toEqual([200, 429]);
      expect((await app.get('/strict')).json).toMatchObject({ plans: ['closed'] });
    });
  });

  describe('@SkipRateLimit', () => {
    @Controller('shop')
    @RateLimit('one')
    class ShopController {
      @Get('open')
      @SkipRateLimit()
      open(): string {
        return 'ok';
      }

      @Get('limited')
      limited(): string {
        return 'ok';
      }
    }

    @Controller('health')
    @SkipRateLimit()
    @RateLimit('one')
    class HealthController {
      @Get('open')
      @RateLimit({ plan: 'closed', key: 'principal' })
      open(): string {
        return 'ok';
      }

      @Get('limited')
      @SkipRateLimit(false)
      limited(): string {
        return 'ok';
      }
    }

    it('leaves a handler out', async () => {
      const app = await start(ShopController);
      expect(await app.statuses(3, '/shop/open')).toEqual([200, 200, 200]);
      expect(await app.statuses(2, '/shop/limited')).toEqual([200, 429]);
    });

    it('leaves a class out, and takes back in what says false', async () => {
      const app = await start(HealthController);
      expect(await app.statuses(3, '/health/open')).toEqual([200, 200, 200]);
      expect(await app.statuses(2, '/health/limited')).toEqual([200, 429]);
    });
  });

  describe('several decorators', () => {
    @Controller()
    class ShopController {
      @Get('guard')
      @RateLimit('five')
      @RateLimit({ plan: 'one', key: 'all' })
      @RateLimit({ plan: 'two', key: 'header:x-api-key' })
      guard(): string {
        return 'ok';
      }

      @Get('interceptor')
      @RateLimit({ plan: 'five', key: 'principal' })
      @RateLimit({ plan: 'one', key: () => Promise.resolve('all') })
      @RateLimit({ plan: () => 'two', key: 'principal' })
      interceptor(): string {
        return 'ok';
      }

      @Get('same')
      @RateLimit({ plan: 'five', tokens: 2 })
      @RateLimit({ plan: 'five', tokens: 2 })
      same(): string {
        return 'ok';
      }
    }

    it.each(['guard', 'interceptor'])('in the %s are one store call', async (path) => {
      const store = new RecordingStore(clock);
      const app = await start(ShopController, { store });
      await app.get(`/${path}`, by('ann'));
      const asked = store.inquiries.map(({ limits }) => limits.map(({ plan }) => plan.name));
      expect(asked).toEqual([['five', 'one', 'two']]);
    });

    it.each([
      ['guard', 'ip:127.0.0.1'],
      ['interceptor', 'principal:ann'],
    ])('in the %s are all or nothing together', async (path, key) => {
      const app = await start(ShopController);
      expect(await app.statuses(3, `/${path}`, by('ann'))).toEqual([200, 429, 429]);
      expect(await remaining(app, key, 'five')).toBe(4);
      expect(await remaining(app, key, 'two')).toBe(1);
    });

    it('that name the same counter charge it for both', async () => {
      const app = await start(ShopController);
      expect(await app.statuses(2, '/same')).toEqual([200, 429]);
      expect(await remaining(app, 'ip:127.0.0.1', 'five')).toBe(1);
    });
  });
});
