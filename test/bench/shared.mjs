// Decisions of a two-plan chain on one Redis, 64 callers at a time: ours, the peers', and a script
// that does nothing.
import 'reflect-metadata';
import { Redis } from 'ioredis';
import { peer } from './peers/peer.mjs';

const [, , contestant, url] = process.argv;
const PLENTY = 1_000_000_000;
const CALLERS = 64;
const KEYS = 10_000;

const contestants = {
  async floodgate() {
    const { NestFactory } = await import('@nestjs/core');
    const { Module } = await import('@nestjs/common');
    const { RateLimiter, RateLimitModule } = await import('nestjs-floodgate');
    class AppModule {}
    const plans = {
      gold: { capacity: 1_000_000, tokensPerSecond: 1_000 },
      daily: { capacity: 1_000_000, tokensPerSecond: 10 },
    };
    Module({ imports: [RateLimitModule.forRoot({ redis: url, deadlineMs: 1_000, plans })] })(
      AppModule,
    );
    const app = await NestFactory.createApplicationContext(AppModule, {
      logger: ['error', 'warn'],
    });
    const limiter = app.get(RateLimiter);
    const chain = ['gold', 'daily'];
    return async (key) => {
      const { reason } = await limiter.allow(key, chain, 1);
      if (reason !== 'ALLOWED') throw new Error(reason);
    };
  },
  flexible() {
    const { RateLimiterRedis, RateLimiterUnion } = peer('rate-limiter-flexible');
    const storeClient = new Redis(url);
    const union = new RateLimiterUnion(
      new RateLimiterRedis({ storeClient, points: PLENTY, duration: 60, keyPrefix: 'gold' }),
      new RateLimiterRedis({ storeClient, points: PLENTY, duration: 86_400, keyPrefix: 'daily' }),
    );
    return (key) => union.consume(key, 1);
  },
  async 'empty script'() {
    const client = new Redis(url);
    const sha = await client.script('LOAD', 'return 1');
    return (key) => client.evalsha(sha, 2, `gold:{${key}}`, `daily:{${key}}`, 1, 100, 1, 100, 1);
  },
};

const decide = await contestants[contestant]();
process.on('message', async ({ milliseconds }) => {
  const started = performance.now();
  let count = 0;
  const call = async () => {
    while (performance.now() - started < milliseconds) {
      await decide(`user-${(count++ * 7_919) % KEYS}`);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
  process.send({ perSecond: (count / (performance.now() - started)) * 1_000 });
});
process.send({ ready: true });
