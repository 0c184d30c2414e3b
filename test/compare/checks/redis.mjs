// Two limits on one Redis: what a decision sends there, and whether it ends while Redis hangs.
import { Redis } from 'ioredis';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { createFarm } from '../../redis/farm.mjs';
import { Bottleneck, flexible, floodgate, throttlerOnRedis } from '../products.mjs';

const [DECISIONS, PATIENCE_MS] = [10, 2_000];

/** On a busy machine an answer may be late; that is not what is counted. */
const LENIENT = { deadlineMs: 5_000 };

/** How each product decides two limits for one caller on the Redis at `url`. */
const DECIDERS = {
  async floodgate(url, deadline) {
    class AppModule {}
    const plans = { minute: '1000/minute', day: '1000/day' };
    const options = { redis: url, plans, ...deadline };
    Module({ imports: [floodgate.RateLimitModule.forRoot(options)] })(AppModule);
    const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
    const limiter = app.get(floodgate.RateLimiter);
    return { decide: () => limiter.allow('ada', ['minute', 'day']), end: () => app.close() };
  },
  async throttler(url) {
    const client = quiet(new Redis(url));
    const storage = new throttlerOnRedis.ThrottlerStorageRedisService(client);
    const decide = async () => {
      await storage.increment('ada', 60_000, 1_000, 60_000, 'minute');
      await storage.increment('ada', 86_400_000, 1_000, 86_400_000, 'day');
    };
    return { decide, end: () => client.disconnect() };
  },
  async flexible(url) {
    const storeClient = quiet(new Redis(url));
    const limiterOf = (keyPrefix, duration) =>
      new flexible.RateLimiterRedis({ storeClient, points: 1_000, duration, keyPrefix });
    const union = new flexible.RateLimiterUnion(limiterOf('minute', 60), limiterOf('day', 86_400));
    return { decide: () => union.consume('ada'), end: () => storeClient.disconnect() };
  },
  async bottleneck(url) {
    const { port } = new URL(url);
    const limiterOf = (id) =>
      new Bottleneck({
        id,
        datastore: 'ioredis',
        Redis,
        clientOptions: { host: '127.0.0.1', port: Number(port) },
        reservoir: 1_000,
      });
    const [minute, day] = [limiterOf('minute'), limiterOf('day')];
    for (const limiter of [minute, day]) limiter.on('error', () => {});
    minute.chain(day);
    await Promise.all([minute.ready(), day.ready()]);
    const end = () => Promise.all([minute, day].map((limiter) => limiter.disconnect(false)));
    return { decide: () => minute.schedule(async () => {}), end };
  },
};

/** What a deciding product does while it is watched, on a Redis of its own. */
const onRedis = (watch, deadline) =>
  Object.fromEntries(
    Object.entries(DECIDERS).map(([product, start]) => [
      product,
      () => staged(start, watch, deadline),
    ]),
  );

export const roundTrips = onRedis(async ({ decide, server }) => {
  const admin = new Redis(server.url);
  const before = await scriptCalls(admin);
  for (let i = 0; i < DECISIONS; i++) await decide();
  const calls = (await scriptCalls(admin)) - before;
  admin.disconnect();
  return String(Math.round(calls / DECISIONS));
}, LENIENT);

export const hanging = onRedis(async ({ decide, server }) => {
  server.halt();
  const patience = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS, 'late'));
  const answer = await Promise.race([patience, decide().then(() => 'answered')]);
  server.resume();
  return answer === 'answered' ? 'is answered' : `waits for over ${PATIENCE_MS / 1_000} s`;
});

async function staged(start, watch, deadline) {
  const farm = createFarm();
  const server = await farm.single();
  const { decide, end } = await start(server.url, deadline);
  await decide();
  try {
    return await watch({ decide, server });
  } finally {
    await end();
    await farm.stop();
  }
}

async function scriptCalls(admin) {
  const stats = await admin.info('commandstats');
  const calls = stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm);
  return [...calls].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** A client whose failures are told by its calls alone. */
function quiet(client) {
  return client.on('error', () => {});
}
