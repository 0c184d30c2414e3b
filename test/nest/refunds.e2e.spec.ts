import 'reflect-metadata';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CanActivate, Type } from '@nestjs/common';
import {
  BadRequestException,
  Controller,
  Get,
  HttpCode,
  Query,
  StreamableFile,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import { Readable } from 'node:stream';
import type { Phase, RefundCondition, RequestOutcome, Return } from '../../lib/index.js';
import {
  MemoryStore,
  RateLimit,
  RateLimitCharge,
  RateLimiter,
  RateLimitModule,
  RequestCharge,
} from '../../lib/index.js';
import { FakeClock } from '../support/fake-clock.js';
import type { HttpApp } from '../support/http-app.js';
import { adapters, closeApps, startApp } from '../support/http-app.js';
import { until } from '../support/redis-servers.js';

const PLANS = {
  login: '3/hour',
  strict: '5/hour',
  window: { limit: 3, windowMs: 3_600_000 },
  slots: { maxConcurrent: 3 },
  model: '100/hour',
} as const;

/** Counts refunds, and fails when it is told to. */
class RefundingStore extends MemoryStore {
  refunds = 0;
  isBroken = false;

  override giveBack(returned: Return): boolean {
    if (returned.kind === 'refund') this.refunds++;
    if (this.isBroken) return Promise.reject(new Error('store away')) as unknown as boolean;
    return super.giveBack(returned);
  }
}

const nobody: CanActivate = {
  canActivate: () => {
    throw new UnauthorizedException();
  },
};

let store: RefundingStore;
let outcomes: RequestOutcome[];
let refundOn: RefundCondition;
/** Called by a handler that would never answer. */
let started: () => void;

beforeEach(() => {
  store = new RefundingStore(new FakeClock());
  outcomes = [];
  refundOn = ({ statusCode }) => statusCode < 400;
});

afterEach(closeApps);

const noted: RefundCondition = (outcome) => {
  outcomes.push(outcome);
  return refundOn(outcome);
};

function controllerIn(phase: Phase): Type {
  const login = () => RateLimit({ plan: 'login', phase, refundOn: noted });

  @Controller()
  class LoginController {
    @Get('login')
    @login()
    login(@Query('password') password: string): string {
      if (password !== 'right') throw new UnauthorizedException('wrong password');
      return 'hello';
    }

    @Get('teapot')
    @HttpCode(418)
    @login()
    teapot(): string {
      return 'short and stout';
    }

    @Get('stream')
    @login()
    stream(): StreamableFile {
      return new StreamableFile(Readable.from(['one', 'two']));
    }

    @Get('guarded')
    @login()
    @UseGuards(nobody)
    guarded(): void {}

    @Get('silent')
    @login()
    silent(): Promise<void> {
      started();
      return new Promise(() => {});
    }

    @Get('chained')
    @RateLimit({ plan: ['window', 'slots', 'login'], phase, refundOn: noted })
    chained(): void {}

    @Get('two')
    @RateLimit({ plan: 'login', phase, refundOn: noted })
    @RateLimit({ plan: ['login', 'strict'], phase })
    two(): void {}

    @Get('model')
    @RateLimit({ plan: ['strict', { plan: 'model', tokens: 40 }], phase, refundOn: noted })
    async model(
      @RateLimitCharge() charge: RequestCharge,
      @Query('tokens') tokens: string,
    ): Promise<unknown> {
      if (Number(tokens) < 0) throw new BadRequestException();
      await charge.settle('model', Number(tokens));
      return charge.results;
    }

    @Get('free')
    async free(@RateLimitCharge() charge: RequestCharge): Promise<unknown> {
      await charge.settle('model', 7);
      return charge.results;
    }
  }
  return LoginController;
}

async function start(adapter: (typeof adapters)[number], phase: Phase): Promise<HttpApp> {
  return startApp(adapter, {
    imports: [RateLimitModule.forRoot({ plans: PLANS, store })],
    controllers: [controllerIn(phase)],
  });
}

const left = async (app: HttpApp, plan: string) =>
  (await app.provider(RateLimiter).peek('ip:127.0.0.1', plan)).remainingTokens;

const told = (count: number) => until('outcomes', () => outcomes.length === count);

describe.each(adapters)('refundOn on %s', (adapter) => {
  describe.each(['guard', 'interceptor'] as const)('in the %s', (phase) => {
    it('counts failures alone, when it refunds what succeeded', async () => {
      const app = await start(adapter, phase);
      expect(await app.statuses(6, '/login?password=right')).toEqual(Array(6).fill(200));
      expect(await app.statuses(4, '/login?password=wrong')).toEqual([401, 401, 401, 429]);
      await told(9);
      expect(store.refunds).toBe(6);
    });

    it('tells the request, the response, the status and what was thrown', async () => {
      const app = await start(adapter, phase);
      await app.get('/login?password=wrong');
      await app.get('/teapot');
      await told(2);
      const [wrong, teapot] = outcomes;
      expect(wrong).toMatchObject({
        request: { query: { password: 'wrong' } },
        response: { statusCode: 401 },
        statusCode: 401,
      });
      expect(wrong!.error).toBeInstanceOf(UnauthorizedException);
      expect([teapot!.statusCode, teapot!.error]).toEqual([418, undefined]);
    });

    it('waits for the end of a stream', async () => {
      const app = await start(adapter, phase);
      expect((await app.get('/stream')).text).toBe('onetwo');
      await told(1);
      expect([outcomes[0]!.statusCode, await left(app, 'login')]).toEqual([200, 3]);
    });

    it('takes a client that hung up for neither a success nor an error', async () => {
      const app = await start(adapter, phase);
      const reached = new Promise<void>((resolve) => (started = resolve));
      const exchange = app.open('/silent');
      await reached;
      expect(await left(app, 'login')).toBe(2);
      exchange.abort();
      await told(1);
      expect([outcomes[0]!.statusCode, outcomes[0]!.error]).toEqual([499, undefined]);
      expect([store.refunds, await left(app, 'login')]).toEqual([0, 2]);
    });

    it('refunds a client that hung up, when it says so', async () => {
      refundOn = ({ statusCode }) => statusCode === 499;
      const app = await start(adapter, phase);
      const reached = new Promise<void>((resolve) => (started = resolve));
      const exchange = app.open('/silent');
      await reached;
      exchange.abort();
      await until('the refund', () => store.refunds === 1);
      expect(await left(app, 'login')).toBe(3);
    });

    it('gives tokens back to every plan of its chain, and nothing to slots', async () => {
      const app = await start(adapter, phase);
      await app.get('/chained');
      await until('the refund', () => store.refunds === 1);
      const plans = ['window', 'slots', 'login'];
      await until('the slot', async () => (await left(app, 'slots')) === 3);
      expect(await Promise.all(plans.map((plan) => left(app, plan)))).toEqual([3, 3, 3]);
    });

    it('gives back what its own decorator charged, where two charge the same plan', async () => {
      const app = await start(adapter, phase);
      await app.get('/two');
      await until('the refund', () => store.refunds === 1);
      expect([await left(app, 'login'), await left(app, 'strict')]).toEqual([2, 4]);
    });

    it('is not asked about a request that was denied', async () => {
      const app = await start(adapter, phase);
      expect(await app.statuses(4, '/login')).toEqual([401, 401, 401, 429]);
      await told(3);
      await new Promise(setImmediate);
      expect(outcomes.map(({ statusCode }) => statusCode)).toEqual([401, 401, 401]);
    });

    it('may take its time', async () => {
      refundOn = (outcome) => Promise.resolve(outcome.statusCode === 401);
      const app = await start(adapter, phase);
      await app.get('/login');
      await until('the refund', () => store.refunds === 1);
      expect(await left(app, 'login')).toBe(3);
    });

    it.each([
      [
        'throws',
        () => {
          throw new Error('no idea');
        },
        'no idea',
      ],
      ['rejects', () => Promise.reject(new Error('no idea')), 'no idea'],
    ] as const)('that %s disturbs no request, and is told once', async (_, fail, said) => {
      refundOn = fail;
      const app = await start(adapter, phase);
      expect(await app.statuses(2, '/login?password=right')).toEqual([200, 200]);
      await told(2);
      await until('the warning', () => app.logs.warnings.length > 0);
      expect(app.logs.warnings).toEqual([expect.stringContaining(said)]);
    });

    it('disturbs no request when the store fails', async () => {
      store.isBroken = true;
      const app = await start(adapter, phase);
      expect(await app.statuses(2, '/login?password=right')).toEqual([200, 200]);
      await until('the warning', () => app.logs.warnings.length > 0);
      expect(app.logs.warnings).toEqual([expect.stringContaining('store away')]);
      expect(await left(app, 'login')).toBe(1);
    });
  });

  it('hears of a guard that refused by its status', async () => {
    refundOn = ({ statusCode }) => statusCode === 401;
    const app = await start(adapter, 'guard');
    expect(await app.statuses(4, '/guarded')).toEqual([401, 401, 401, 401]);
    await until('the refunds', () => store.refunds === 4);
    expect(outcomes.map(({ error }) => error)).toEqual(Array(4).fill(undefined));
  });

  it('has to be a function', async () => {
    @Controller()
    class WrongController {
      @Get()
      @RateLimit({ plan: 'login', refundOn: 'success' as unknown as RefundCondition })
      hello(): void {}
    }
    const starting = startApp(adapter, {
      imports: [RateLimitModule.forRoot({ plans: PLANS })],
      controllers: [WrongController],
    });
    await expect(starting).rejects.toThrow(
      '@RateLimit on WrongController.hello: Expected `refundOn` to be a function of the outcome',
    );
  });
});

describe.each(adapters)('the charge of a request on %s', (adapter) => {
  describe.each(['guard', 'interceptor'] as const)('in the %s', (phase) => {
    it.each([
      ['lower', 10, 90],
      ['higher', 75, 25],
      ['as it was', 40, 60],
    ])('is settled by its handler: %s', async (_, tokens, remaining) => {
      refundOn = () => false;
      const app = await start(adapter, phase);
      const { json } = await app.get(`/model?tokens=${tokens}`);
      expect(json).toMatchObject([
        { allowed: true, limits: [{ plan: 'strict' }, { plan: 'model' }] },
      ]);
      expect([await left(app, 'model'), await left(app, 'strict')]).toEqual([remaining, 4]);
    });

    it('that was settled is not refunded, the rest of the chain is', async () => {
      const app = await start(adapter, phase);
      await app.get('/model?tokens=10');
      await until('the refund', () => store.refunds === 2);
      expect([await left(app, 'model'), await left(app, 'strict')]).toEqual([90, 5]);
    });

    it('is refunded when the handler failed before it settled', async () => {
      refundOn = ({ error }) => error instanceof BadRequestException;
      const app = await start(adapter, phase);
      expect((await app.get('/model?tokens=-1')).status).toBe(400);
      await until('the refund', () => store.refunds === 1);
      expect([await left(app, 'model'), await left(app, 'strict')]).toEqual([100, 5]);
    });

    it('is empty where nothing limits', async () => {
      const app = await start(adapter, phase);
      const { status, json } = await app.get('/free');
      expect([status, json, await left(app, 'model')]).toEqual([200, [], 100]);
    });
  });
});
