import 'reflect-metadata';
import type { ChildProcess } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { Module } from '@nestjs/common';
import type { DynamicModule, INestApplicationContext, LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RateLimitOptions } from '../../lib/index.js';
import { RateLimiter, RateLimitModule } from '../../lib/index.js';
import type { Farm } from '../support/redis-servers.js';
import { createFarm, freePort, until } from '../support/redis-servers.js';

const PLANS = {
  gold: { capacity: 5, tokensPerSecond: 0.001 },
  strict: { capacity: 5, tokensPerSecond: 0.001, onStoreFailure: 'closed' },
  trial: { capacity: 5, tokensPerSecond: 0.001, onStoreFailure: 'closed', shadow: true },
  alone: { capacity: 5, tokensPerSecond: 0.001, onStoreFailure: 'local' },
} as const;

@Module({})
class RootModule {
  static with(options: RateLimitOptions): DynamicModule {
    return { module: RootModule, imports: [RateLimitModule.forRoot({ plans: PLANS, ...options })] };
  }
}

describe('an outage of Redis', () => {
  let farm: Farm;
  let port: number;
  let redis: ChildProcess;
  let apps: INestApplicationContext[];
  let lines: string[];

  beforeEach(async () => {
    farm = createFarm();
    port = await freePort();
    redis = await farm.start(port);
    apps = [];
    lines = [];
  });

  afterEach(async () => {
    for (const app of apps) await app.close();
    await farm.stop();
  });

  async function limiter(): Promise<RateLimiter> {
    const keep = (line: unknown, context?: string) => {
      if (context === 'RateLimit') lines.push(String(line));
    };
    const logger: LoggerService = { log: keep, warn: keep, error: keep };
    const module = RootModule.with({ redis: `redis://127.0.0.1:${port}` });
    const app = await NestFactory.createApplicationContext(module, { logger });
    apps.push(app);
    return app.get(RateLimiter);
  }

  async function kill(): Promise<void> {
    const ended = new Promise((resolve) => redis.once('exit', resolve));
    redis.kill('SIGKILL');
    await ended;
  }

  async function timed<T>(work: Promise<T>): Promise<{ value: T; tookMs: number }> {
    const before = performance.now();
    const value = await work;
    return { value, tookMs: performance.now() - before };
  }

  it('shares limits between applications while there is none', async () => {
    const [one, other] = [await limiter(), await limiter()];
    expect((await one.allow('ada', 'gold', 3)).allowed).toBe(true);
    expect((await other.allow('ada', 'gold', 3)).allowed).toBe(false);
    expect((await other.allow('ada', 'gold', 2)).remainingTokens).toBe(0);
  });

  it('lets pass, denies or limits locally, as each plan says, and tells it once', async () => {
    const limits = await limiter();
    await kill();
    await until(
      'the end to be noticed',
      async () => (await limits.allow('x', 'gold')).reason === 'FAIL_OPEN',
    );
    expect(await limits.allow('ada', 'gold', 5)).toMatchObject({
      allowed: true,
      reason: 'FAIL_OPEN',
    });
    expect(await limits.allow('ada', 'strict')).toMatchObject({
      allowed: false,
      reason: 'FAIL_CLOSED',
    });
    expect(await limits.allow('ada', 'alone', 4)).toMatchObject({
      allowed: true,
      reason: 'FAIL_LOCAL',
    });
    expect(await limits.allow('ada', 'alone', 4)).toMatchObject({
      allowed: false,
      reason: 'FAIL_LOCAL',
    });
    expect(lines).toEqual([
      expect.stringMatching(/^Limits are no longer shared: Redis does not answer \(/),
    ]);
  });

  it('is no reason for a shadow plan to deny', async () => {
    const limits = await limiter();
    await kill();
    await until(
      'the end to be noticed',
      async () => (await limits.allow('x', 'gold')).reason === 'FAIL_OPEN',
    );
    expect(await limits.allow('ada', 'trial')).toMatchObject({
      allowed: true,
      reason: 'FAIL_OPEN',
    });
    expect(await limits.allow('ada', ['trial', 'gold'])).toMatchObject({ allowed: true });
    expect(await limits.allow('ada', ['trial', 'strict'])).toMatchObject({ allowed: false });
  });

  it('is over by itself within a second of the restart, and tells it once', async () => {
    const limits = await limiter();
    await kill();
    await until(
      'the end to be noticed',
      async () => (await limits.allow('x', 'gold')).reason === 'FAIL_OPEN',
    );
    redis = await farm.start(port);
    const back = await timed(
      until('recovery', async () => (await limits.allow('bob', 'gold')).reason !== 'FAIL_OPEN'),
    );
    expect(back.tookMs).toBeLessThan(1_000);
    expect((await limits.allow('eve', 'gold', 5)).reason).toBe('ALLOWED');
    expect((await limits.allow('eve', 'gold', 5)).allowed).toBe(false);
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatch(
      /^Limits are shared again: Redis was away for \d+\.\d s, \d+ decisions/,
    );
  });

  it('costs those in flight the deadline when the server hangs, and the others nothing', async () => {
    const limits = await limiter();
    await limits.allow('warm', 'gold');
    redis.kill('SIGSTOP');
    const flight = await Promise.all(
      Array.from({ length: 20 }, () => timed(limits.allow('ada', 'gold'))),
    );
    for (const { value, tookMs } of flight) {
      expect(value).toMatchObject({ allowed: true, reason: 'FAIL_OPEN' });
      expect(tookMs).toBeLessThan(90);
    }
    const after = await timed(limits.allow('ada', 'gold'));
    expect(after.value.reason).toBe('FAIL_OPEN');
    expect(after.tookMs).toBeLessThan(10);
    redis.kill('SIGCONT');
    await until('recovery', async () => (await limits.allow('bob', 'gold')).reason !== 'FAIL_OPEN');
  });

  it('does not keep an application from starting, nor from stopping', async () => {
    await kill();
    const started = await timed(limiter());
    expect(started.tookMs).toBeLessThan(2_000);
    expect((await started.value.allow('ada', 'gold')).reason).toBe('FAIL_OPEN');
    const stopped = await timed(apps.pop()!.close());
    expect(stopped.tookMs).toBeLessThan(1_000);
  });

  it('is none when the scripts are flushed: the same call succeeds', async () => {
    const limits = await limiter();
    await limits.allow('ada', 'gold', 2);
    const { Redis } = await import('ioredis');
    const admin = new Redis(port);
    await admin.script('FLUSH');
    expect(await limits.allow('ada', 'gold', 2)).toMatchObject({
      allowed: true,
      reason: 'ALLOWED',
    });
    expect(await admin.hexists('rate_limiter:gold:{ada}', 't')).toBe(1);
    await admin.quit();
  });

  it('is none when one key holds something else: that key alone is let pass', async () => {
    const limits = await limiter();
    const { Redis } = await import('ioredis');
    const admin = new Redis(port);
    await admin.set('rate_limiter:gold:{eve}', 'a string', 'EX', 60);
    await admin.quit();
    for (let i = 0; i < 5; i++) {
      const [poisoned, healthy] = await Promise.all([
        limits.allow('eve', 'gold'),
        limits.allow('ada', 'gold'),
      ]);
      expect(poisoned.reason).toBe('FAIL_OPEN');
      expect(healthy.reason).toBe('ALLOWED');
    }
    expect(lines).toEqual([]);
  });
});
