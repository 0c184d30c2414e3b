// Decisions of a two-plan chain on one Redis, of ours, the peers' and plain scripts:
// redis.mjs <contestant> <url> [<number of keys>]
import { Redis } from 'ioredis';
import { RateLimiter } from 'nestjs-floodgate';
import { peer } from '../peers/peer.mjs';
import { boot, TWO_PLANS } from './application.mjs';
import { CALLERS, scattered, serveCallers } from './callers.mjs';

const [, , contestant, url, keyCount = '10000'] = process.argv;
const PLENTY = 1_000_000_000;
const KEYS = Number(keyCount);

const PLANS = {
  ...TWO_PLANS,
  'gold-window': { limit: 1_000_000, windowMs: 60_000 },
  'daily-window': { limit: 1_000_000, windowMs: 86_400_000 },
  exhausted: { capacity: 1, tokensPerSecond: 0.000_1 },
};
const CHAIN = Object.keys(TWO_PLANS);

/** Asks our limiter, and accepts no answer but the one that is to be measured. */
async function floodgate(chain, expected = 'ALLOWED') {
  const limiter = (await boot({ redis: url, plans: PLANS })).get(RateLimiter);
  return async (key) => {
    const { reason } = await limiter.allow(key, chain, 1);
    if (reason !== expected) throw new Error(`${reason} instead of ${expected}`);
  };
}

/** What our store sends for one decision of each key, as it hands it to its client. */
async function messages(keys) {
  const app = await boot({ redis: url, plans: PLANS });
  const limiter = app.get(RateLimiter);
  const { sendCommand } = Redis.prototype;
  const sent = [];
  Redis.prototype.sendCommand = function (command, ...rest) {
    if (command.name === 'evalsha') sent.push(command.args);
    return sendCommand.call(this, command, ...rest);
  };
  for (const key of keys) await limiter.allow(key, CHAIN, 1);
  Redis.prototype.sendCommand = sendCommand;
  await app.close();
  // The first call may have been sent twice, to a server that did not know the script.
  const last = sent.slice(-keys.length);
  if (last.length < keys.length) throw new Error('a decision was made without EVALSHA');
  return new Map(keys.map((key, i) => [key, last[i]]));
}

const contestants = {
  floodgate: () => floodgate(CHAIN),
  'floodgate alone': () => floodgate(CHAIN),
  'floodgate window': () => floodgate(['gold-window', 'daily-window']),
  async 'floodgate denying'() {
    const deny = await floodgate('exhausted', 'LIMIT_EXCEEDED');
    // The first spends what there is. The second is told that nothing is left, so that nobody waits
    // for Redis any more once all callers go round in this process and let in nothing else.
    await deny('one').catch(() => undefined);
    await deny('one');
    return () => deny('one');
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
  /** One throttler after the other, as the guard of @nestjs/throttler asks its storage. */
  throttler() {
    const { ThrottlerStorageRedisService } = peer('@nest-lab/throttler-storage-redis');
    const storage = new ThrottlerStorageRedisService(new Redis(url));
    return async (key) => {
      await storage.increment(key, 60_000, PLENTY, 60_000, 'gold');
      await storage.increment(key, 86_400_000, PLENTY, 86_400_000, 'daily');
    };
  },
  async 'empty script'() {
    const client = new Redis(url);
    const sha = await client.script('LOAD', 'return 1');
    return (key) => client.evalsha(sha, 2, `gold:{${key}}`, `daily:{${key}}`, 1, 100, 1, 100, 1);
  },
  /** The very messages of our store, without anything around them. */
  async 'script alone'() {
    const keys = Array.from({ length: KEYS }, (_, i) => keyOf(i));
    const sent = await messages(keys);
    const client = new Redis(url);
    return (key) => client.evalsha(...sent.get(key));
  },
};

function keyOf(turn) {
  return `user-${scattered(turn, KEYS)}`;
}

const decide = await contestants[contestant]();
const callers = contestant.endsWith('alone') ? 1 : CALLERS;
serveCallers((turn) => decide(keyOf(turn)), { callers });
