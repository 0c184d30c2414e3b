import 'reflect-metadata';
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ArgumentsHost, ExceptionFilter, Type } from '@nestjs/common';
import { Catch, Controller, Get, Header, Sse, StreamableFile } from '@nestjs/common';
import type { Observable } from 'rxjs';
import { of } from 'rxjs';
import { parseList } from 'structured-headers';
import type {
  ChainOptions,
  PlanDefinition,
  PlanLinks,
  RateLimitOptions,
  RateLimitResult,
} from '../../lib/index.js';
import {
  Lease,
  RateLimit,
  RateLimiter,
  RateLimitExceededException,
  RateLimitModule,
} from '../../lib/index.js';
import { FakeClock } from '../support/fake-clock.js';
import type { HttpApp, StartOptions } from '../support/http-app.js';
import { adapters, closeApps, startApp } from '../support/http-app.js';

const PLANS = {
  bucket: { capacity: 2, tokensPerSecond: 0.1 },
  brisk: { capacity: 10, tokensPerSecond: 4 },
  window: { limit: 2, windowMs: 10_000 },
  slots: { maxConcurrent: 2, leaseMs: 30_000 },
  slow: { capacity: 3, tokensPerSecond: 0.01 },
  wide: { capacity: 1_000, tokensPerSecond: 100 },
  trial: { capacity: 1, tokensPerSecond: 0.1, shadow: true },
} satisfies Record<string, PlanDefinition>;

const LEGACY = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];
const DRAFT = ['ratelimit-policy', 'ratelimit'];
const KEY = 'ip:127.0.0.1';

/** A header as RFC 9651 reads it: one object per plan. */
function listed(header: string | string[] | undefined): Record<string, unknown>[] {
  return parseList(String(header)).map((item) => {
    const [plan, parameters] = item as [string, Map<string, unknown>];
    return { plan, ...Object.fromEntries(parameters) };
  });
}

/** What a caller was told about limits. */
function told(headers: IncomingHttpHeaders) {
  return { policies: listed(headers['ratelimit-policy']), state: listed(headers['ratelimit']) };
}

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

/** Answers in its own way. */
@Catch(RateLimitExceededException)
class OwnFilter implements ExceptionFilter {
  caught: RateLimitExceededException | undefined;

  catch(exception: RateLimitExceededException, host: ArgumentsHost): void {
    this.caught = exception;
    const response = host.switchToHttp().getResponse<{
      status(code: number): { send(body: unknown): void };
    }>();
    response.status(420).send({ plans: exception.plans, wait: exception.result.retryAfterMs });
  }
}

let clock: FakeClock;

beforeEach(() => {
  clock = new FakeClock();
});

afterEach(closeApps);

describe.each(adapters)('what callers are told on %s', (adapter) => {
  function start(
    controller: Type,
    options: RateLimitOptions = {},
    starting: StartOptions = {},
  ): Promise<HttpApp> {
    return startApp(
      adapter,
      {
        imports: [RateLimitModule.forRoot({ plans: PLANS, clock, ...options })],
        controllers: [controller],
      },
      starting,
    );
  }

  describe('about a token bucket', () => {
    it('are its capacity, the time to fill it and what is left', async () => {
      const app = await start(limited('brisk'));
      const { headers } = await app.get('/');
      expect(headers['ratelimit-policy']).toBe('"brisk";q=10;w=3');
      expect(headers['ratelimit']).toBe('"brisk";r=9;t=1');
      await app.statuses(5, '/');
      expect((await app.get('/')).headers['ratelimit']).toBe('"brisk";r=3;t=2');
      await app.statuses(2, '/');
      expect((await app.get('/')).headers['ratelimit']).toBe('"brisk";r=0;t=1');
    });

    it('are the same when it denies, with the time until it would not', async () => {
      const app = await start(limited('bucket'));
      await app.statuses(2, '/');
      clock.advanceMs(2_500);
      const { status, headers } = await app.get('/');
      expect(status).toBe(429);
      expect(told(headers)).toEqual({
        policies: [{ plan: 'bucket', q: 2, w: 20 }],
        state: [{ plan: 'bucket', r: 0, t: 8 }],
      });
      expect(headers['retry-after']).toBe('8');
    });

    it('are what is left when that is not enough', async () => {
      const app = await start(limited({ plan: 'brisk', tokens: 6 }));
      await app.get('/');
      const { headers } = await app.get('/');
      expect(headers['ratelimit']).toBe('"brisk";r=4;t=1');
      expect(headers['retry-after']).toBe('1');
    });
  });

  it('about a sliding window are its limit, its length and what is left', async () => {
    const app = await start(limited('window'));
    const first = await app.get('/');
    expect(first.headers['ratelimit-policy']).toBe('"window";q=2;w=10');
    expect(first.headers['ratelimit']).toBe('"window";r=1;t=20');
    expect((await app.get('/')).headers['ratelimit']).toBe('"window";r=0;t=20');
    const denied = await app.get('/');
    expect(denied.headers['ratelimit-policy']).toBe('"window";q=2;w=10');
    expect(denied.headers['ratelimit']).toBe('"window";r=0;t=15');
    expect(denied.headers['retry-after']).toBe('15');
  });

  it('about concurrency are its slots and those that are free, without a time', async () => {
    const app = await start(limited('slots'));
    const { headers } = await app.get('/');
    expect(headers['ratelimit-policy']).toBe('"slots";q=2;qu="concurrent-requests"');
    expect(headers['ratelimit']).toBe('"slots";r=1');
    const limiter = app.provider(RateLimiter);
    await limiter.acquire(KEY, 'slots');
    clock.advanceMs(1_000);
    await limiter.acquire(KEY, 'slots');
    const denied = await app.get('/');
    expect(denied.status).toBe(429);
    expect(denied.headers['ratelimit-policy']).toBe('"slots";q=2;qu="concurrent-requests"');
    expect(denied.headers['ratelimit']).toBe('"slots";r=0');
    expect(denied.headers['retry-after']).toBe('29');
  });

  describe('about a chain', () => {
    it('are its plans in order', async () => {
      const app = await start(limited(['slots', 'window', 'bucket', 'wide']));
      const { status, headers } = await app.get('/');
      expect(status).toBe(200);
      expect(told(headers)).toEqual({
        policies: [
          { plan: 'slots', q: 2, qu: 'concurrent-requests' },
          { plan: 'window', q: 2, w: 10 },
          { plan: 'bucket', q: 2, w: 20 },
          { plan: 'wide', q: 1_000, w: 10 },
        ],
        state: [
          { plan: 'slots', r: 1 },
          { plan: 'window', r: 1, t: 20 },
          { plan: 'bucket', r: 1, t: 10 },
          { plan: 'wide', r: 999, t: 1 },
        ],
      });
    });

    it('are all of its plans when one says no, and the wait of that one', async () => {
      const app = await start(limited(['slots', 'window', 'bucket', 'wide']));
      await app.provider(RateLimiter).allow(KEY, 'bucket', 2);
      const { status, headers, json } = await app.get('/');
      expect(status).toBe(429);
      expect(told(headers).state).toEqual([
        { plan: 'slots', r: 2 },
        { plan: 'window', r: 2, t: 1 },
        { plan: 'bucket', r: 0, t: 10 },
        { plan: 'wide', r: 1_000, t: 1 },
      ]);
      expect(headers['retry-after']).toBe('10');
      expect(json).toMatchObject({ plans: ['bucket'], retryAfterMs: 10_000 });
    });

    it('are the longest wait of those that say no', async () => {
      const app = await start(limited(['bucket', 'window', 'brisk']));
      const limiter = app.provider(RateLimiter);
      await limiter.allow(KEY, 'bucket', 2);
      await limiter.allow(KEY, 'window', 2);
      const { headers, json } = await app.get('/');
      expect(json).toMatchObject({ plans: ['bucket', 'window'], retryAfterMs: 15_000 });
      expect(headers['retry-after']).toBe('15');
    });

    it('are not the waits of those that say yes', async () => {
      const app = await start(limited(['bucket', 'brisk']));
      const limiter = app.provider(RateLimiter);
      await limiter.allow(KEY, 'bucket', 1);
      await limiter.allow(KEY, 'brisk', 10);
      const { headers, json } = await app.get('/');
      expect(json).toMatchObject({ plans: ['brisk'], retryAfterMs: 250 });
      expect(headers['retry-after']).toBe('1');
    });

    it('name a rate as it is written', async () => {
      const app = await start(limited(['5/10s', '100 / Minute']));
      const { headers } = await app.get('/');
      expect(told(headers).policies).toEqual([
        { plan: '5/10s', q: 5, w: 10 },
        { plan: '100/minute', q: 100, w: 60 },
      ]);
    });

    it('are nothing of its shadow plans', async () => {
      const app = await start(limited(['trial', 'bucket']));
      const first = await app.get('/');
      expect(first.headers['ratelimit-policy']).toBe('"bucket";q=2;w=20');
      expect(first.headers['ratelimit']).toBe('"bucket";r=1;t=10');
      await app.get('/');
      const denied = await app.get('/');
      expect(denied.headers['ratelimit']).toBe('"bucket";r=0;t=10');
      expect(denied.json).toMatchObject({ plans: ['bucket'] });
      expect(JSON.stringify([denied.headers, denied.json])).not.toContain('trial');
    });

    it('are nothing when all of it is shadow', async () => {
      const app = await start(limited('trial'));
      for (const { status, headers } of [await app.get('/'), await app.get('/')]) {
        expect(status).toBe(200);
        for (const name of [...DRAFT, ...LEGACY, 'retry-after']) {
          expect(headers).not.toHaveProperty(name);
        }
      }
    });
  });

  describe('with a 429', () => {
    it('is a wait after which the same request passes', async () => {
      const app = await start(limited(['bucket', 'window']));
      await app.statuses(2, '/');
      const { headers } = await app.get('/');
      clock.advanceMs(Number(headers['retry-after']) * 1_000);
      expect(await app.statuses(2, '/')).toEqual([200, 429]);
    });

    it('are the plans that said no, and the wait', async () => {
      const app = await start(limited(['wide', 'bucket']));
      await app.statuses(2, '/');
      clock.advanceUs(1);
      const { headers, json } = await app.get('/');
      expect(headers['content-type']).toBe('application/json; charset=utf-8');
      expect(json).toEqual({
        statusCode: 429,
        message: 'Rate limit exceeded. Retry in 10 s.',
        error: 'Too Many Requests',
        plans: ['bucket'],
        retryAfterMs: 10_000,
      });
    });

    it('is that nobody may store it', async () => {
      const app = await start(limited('bucket'));
      const first = await app.get('/');
      expect(first.headers).not.toHaveProperty('cache-control');
      expect(first.headers).not.toHaveProperty('retry-after');
      await app.get('/');
      expect((await app.get('/')).headers['cache-control']).toBe('no-store');
    });

    it('is not that of the handler', async () => {
      @Controller()
      class CachedController {
        @Get()
        @Header('Cache-Control', 'max-age=60')
        @RateLimit({ plan: 'bucket', key: () => 'x' })
        hello(): string {
          return 'ok';
        }
      }
      const app = await start(CachedController);
      expect((await app.get('/')).headers['cache-control']).toBe('max-age=60');
      await app.get('/');
      expect((await app.get('/')).headers['cache-control']).toBe('no-store');
    });

    it('may be problem details', async () => {
      const app = await start(limited(['wide', 'bucket']), { problemDetails: true });
      const first = await app.get('/');
      expect(first.text).toBe('ok');
      expect(first.headers['content-type']).not.toContain('problem');
      await app.get('/');
      const { headers, json, status } = await app.get('/');
      expect(status).toBe(429);
      expect(headers['content-type']).toMatch(/^application\/problem\+json(; charset=utf-8)?$/);
      expect(json).toEqual({
        type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
        title: 'Quota Exceeded',
        status: 429,
        detail: 'Rate limit exceeded. Retry in 10 s.',
        'violated-policies': ['bucket'],
        statusCode: 429,
        message: 'Rate limit exceeded. Retry in 10 s.',
        error: 'Too Many Requests',
        plans: ['bucket'],
        retryAfterMs: 10_000,
      });
      expect(app.logs.warnings).toEqual([]);
    });

    it('may be told by a filter that reads the decision', async () => {
      const filter = new OwnFilter();
      const app = await start(
        limited(['wide', 'bucket']),
        {},
        { configure: (nest) => nest.useGlobalFilters(filter) },
      );
      await app.statuses(2, '/');
      const { status, json, headers } = await app.get('/');
      expect(status).toBe(420);
      expect(json).toEqual({ plans: ['bucket'], wait: 10_000 });
      expect(headers['retry-after']).toBe('10');
      const result: RateLimitResult = filter.caught!.result;
      expect(result).toBeInstanceOf(Lease);
      expect(result).toMatchObject({
        allowed: false,
        reason: 'LIMIT_EXCEEDED',
        remainingTokens: 0,
      });
      expect(result.limits.map(({ plan, denied }) => [plan, denied])).toEqual([
        ['wide', false],
        ['bucket', true],
      ]);
    });
  });

  describe('in the legacy style', () => {
    const legacy = (headers: IncomingHttpHeaders) => LEGACY.map((name) => headers[name]);

    it('is the plan with the fewest left', async () => {
      const app = await start(limited(['wide', 'window', 'brisk']), { headers: 'legacy' });
      const { headers } = await app.get('/');
      expect(legacy(headers)).toEqual(['2', '1', '20']);
      for (const name of DRAFT) expect(headers).not.toHaveProperty(name);
    });

    it('is the plan that said no and takes longest', async () => {
      const app = await start(limited(['slow', 'wide', 'bucket', 'window']), { headers: 'legacy' });
      const limiter = app.provider(RateLimiter);
      await limiter.allow(KEY, 'bucket', 2);
      const bucket = await app.get('/');
      expect(legacy(bucket.headers)).toEqual(['2', '0', '20']);
      expect(bucket.headers['retry-after']).toBe('10');
      await limiter.allow(KEY, 'slow', 3);
      const slow = await app.get('/');
      expect(legacy(slow.headers)).toEqual(['3', '0', '300']);
      expect(slow.headers['retry-after']).toBe('100');
      expect(slow.headers['cache-control']).toBe('no-store');
    });

    it('is the plan that said no, even when another has fewer left', async () => {
      const app = await start(limited({ plan: ['bucket', 'brisk'], tokens: 2 }), {
        headers: 'legacy',
      });
      await app.provider(RateLimiter).allow(KEY, 'brisk', 9);
      expect(legacy((await app.get('/')).headers)).toEqual(['10', '1', '3']);
    });

    it('is nothing of a shadow plan', async () => {
      const app = await start(limited(['trial', 'bucket']), { headers: 'legacy' });
      expect(legacy((await app.get('/')).headers)).toEqual(['2', '1', '10']);
    });

    it('is the tighter of what the guard and the interceptor decided', async () => {
      @Controller()
      class TwicePlannedController {
        @Get('late')
        @RateLimit('wide')
        @RateLimit({ plan: 'bucket', key: () => 'x' })
        late(): string {
          return 'ok';
        }

        @Get('early')
        @RateLimit('bucket')
        @RateLimit({ plan: 'wide', key: () => 'x' })
        early(): string {
          return 'ok';
        }
      }
      const app = await start(TwicePlannedController, { headers: 'legacy' });
      expect(legacy((await app.get('/late')).headers)).toEqual(['2', '1', '10']);
      expect(legacy((await app.get('/early')).headers)).toEqual(['2', '1', '10']);
    });
  });

  it('without headers is still when to retry', async () => {
    const app = await start(limited('bucket'), { headers: false });
    const first = await app.get('/');
    await app.get('/');
    const denied = await app.get('/');
    for (const { headers } of [first, denied]) {
      for (const name of [...DRAFT, ...LEGACY]) expect(headers).not.toHaveProperty(name);
    }
    expect(denied.status).toBe(429);
    expect(denied.headers['retry-after']).toBe('10');
    expect(denied.headers['cache-control']).toBe('no-store');
    expect(denied.json).toMatchObject({ plans: ['bucket'] });
  });

  it('is theirs, and not what the caller before was told', async () => {
    const app = await start(limited('bucket'));
    const [ann, bob] = [{ from: '127.0.0.2' }, { from: '127.0.0.3' }];
    const left = async (who: object) => (await app.get('/', who)).headers['ratelimit'];
    expect(await left(ann)).toBe('"bucket";r=1;t=10');
    expect(await left(bob)).toBe('"bucket";r=1;t=10');
    expect(await left(ann)).toBe('"bucket";r=0;t=10');
    expect(await left(bob)).toBe('"bucket";r=0;t=10');
    clock.advanceMs(15_000);
    expect(await left(ann)).toBe('"bucket";r=0;t=10');
    expect(await left({ from: '127.0.0.4' })).toBe('"bucket";r=1;t=10');
  });

  it('comes with streams as well', async () => {
    @Controller()
    class StreamController {
      @Get('file')
      @RateLimit('bucket')
      file(): StreamableFile {
        return new StreamableFile(Readable.from(['ok']));
      }

      @Sse('events')
      @RateLimit({ plan: 'brisk', key: () => 'x' })
      events(): Observable<{ data: string }> {
        return of({ data: 'ok' });
      }
    }
    const app = await start(StreamController);
    const file = await app.get('/file');
    expect(file.text).toBe('ok');
    expect(file.headers['ratelimit']).toBe('"bucket";r=1;t=10');
    const events = await app.get('/events');
    expect(events.text).toContain('data: ok');
    expect(events.headers['ratelimit-policy']).toBe('"brisk";q=10;w=3');
    expect(events.headers['ratelimit']).toBe('"brisk";r=9;t=1');
  });
});
