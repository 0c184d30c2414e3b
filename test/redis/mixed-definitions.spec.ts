import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll } from '@jest/globals';
import type { RedisServers } from '../../lib/redis/redis-servers.js';
import { RedisKeys } from '../../lib/redis/redis-keys.js';
import { RedisStore } from '../../lib/redis/redis-store.js';
import { serversOf } from '../../lib/redis/servers-of.js';
import { mixedDefinitionsContract } from '../contract/mixed-definitions.contract.js';
import { expectAllKeysExpire } from '../support/expect-all-keys-expire.js';
import { FakeClock } from '../support/fake-clock.js';
import { sharedRedis } from '../support/redis-servers.js';

/** Raise it to search longer: FAST_CHECK_RUNS=10000 npm test -- test/redis/mixed-definitions */
const RUNS = Number(process.env['FAST_CHECK_RUNS'] ?? 150);
/** Keys of a test's time live that much longer, by the time of the server. */
const KEPT_MS = 600_000;
/** For the time that passes between a write and a look at how long the key lives. */
const SLACK_MS = 100;

let client: Redis;
let servers: RedisServers;

beforeAll(() => {
  client = new Redis(sharedRedis.url);
  servers = serversOf(client);
});

afterAll(async () => {
  await expectAllKeysExpire(client);
  servers.close();
});

mixedDefinitionsContract(
  'a Redis store',
  () => {
    const clock = new FakeClock(1_800_000_000_000_003);
    const keyPrefix = randomUUID();
    const options = { keyPrefix, nowUs: () => clock.nowUs() };
    return {
      clock,
      stores: [new RedisStore(servers, options), new RedisStore(servers, options)],
      expire: async (plan, key, passedUs) => {
        const name = new RedisKeys(keyPrefix).nameOf({ plan, key, cost: 1 });
        const leftMs = (await client.pttl(name)) - KEPT_MS + SLACK_MS;
        if (leftMs <= passedUs / 1_000) await client.del(name);
        else await client.pexpire(name, Math.ceil(leftMs - passedUs / 1_000) + KEPT_MS - SLACK_MS);
      },
    };
  },
  { runs: RUNS, millisecondsEach: 30 * RUNS },
);
