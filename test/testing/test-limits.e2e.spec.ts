import 'reflect-metadata';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { definePlans, RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { TestLimits } from 'nestjs-floodgate/testing';
import type { HttpApp } from '../support/http-app.js';
import { adapters, closeApps, startApp } from '../support/http-app.js';

@Controller()
class HelloController {
  @Get()
  @RateLimit(['hourly', 'window'])
  hello(): void {}
}

const PLANS = definePlans({
  hourly: '3/hour',
  window: { limit: 3, windowMs: 1_000 },
  slots: { maxConcurrent: 1 },
});

afterEach(closeApps);

describe.each(adapters)('limits in the hands of a test on %s', (adapter) => {
  const limits = new TestLimits();

  const start = (redis?: string): Promise<HttpApp> =>
    startApp(
      adapter,
      {
        imports: [RateLimitModule.forRoot({ plans: PLANS, ...(redis && { redis }) })],
        controllers: [HelloController],
      },
      { override: (builder) => limits.install(builder) },
    );

  afterEach(() => limits.reset());

  it('let as much pass as the plans say, and no time goes by', async () => {
    const app = await start();
    expect(await app.statuses(5, '/')).toEqual([200, 200, 200, 429, 429]);
  });

  it('have forgotten what the test before has spent', async () => {
    const app = await start();
    expect(await app.statuses(4, '/')).toEqual([200, 200, 200, 429]);
  });

  it('let tokens come back when time is moved on, to the millisecond', async () => {
    const app = await start();
    expect(await app.statuses(4, '/')).toEqual([200, 200, 200, 429]);
    limits.advance(1_199_999);
    expect(await app.statuses(1, '/')).toEqual([429]);
    limits.advance(1);
    expect(await app.statuses(2, '/')).toEqual([200, 429]);
  });

  it('forget within a test, slots included', async () => {
    const app = await start();
    const limiter = app.provider(RateLimiter);
    expect(await app.statuses(4, '/')).toEqual([200, 200, 200, 429]);
    const before = await limiter.acquire('ada', 'slots');
    expect((await limiter.acquire('ada', 'slots')).allowed).toBe(false);
    limits.reset();
    expect(await app.statuses(4, '/')).toEqual([200, 200, 200, 429]);
    const after = await limiter.acquire('ada', 'slots');
    expect(after.allowed).toBe(true);
    // Nobody's slot but its own.
    await before.release();
    expect((await limiter.acquire('ada', 'slots')).allowed).toBe(false);
    await after.release();
  });

  it('need no Redis, though the application asks for one', async () => {
    const app = await start('redis://127.0.0.1:1');
    expect(await app.statuses(4, '/')).toEqual([200, 200, 200, 429]);
    expect(app.logs.warnings).toEqual([]);
  });
});

describe('the clock of a test', () => {
  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY])('does not move by %p ms', (ms) => {
    expect(() => new TestLimits().advance(ms)).toThrow(
      'Expected `ms` to be a number of milliseconds from 0 up',
    );
  });

  it('moves by parts of a millisecond', () => {
    const { clock } = new TestLimits();
    const before = clock.nowUs();
    clock.advance(0.25);
    expect(clock.nowUs() - before).toBe(250);
  });
});
