import { Redis } from 'ioredis';
import { afterAll, beforeAll } from '@jest/globals';
import type { RedisServers } from '../../lib/redis/redis-servers.js';
import { RedisStore } from '../../lib/redis/redis-store.js';
import { serversOf } from '../../lib/redis/servers-of.js';
import { gateContract } from '../contract/gate.contract.js';
import { expectAllKeysExpire } from '../support/expect-all-keys-expire.js';
import { FakeClock } from '../support/fake-clock.js';
import { sharedRedis } from '../support/redis-servers.js';

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

gateContract('a Redis store', () => {
  const clock = new FakeClock(1_800_000_000_000_003);
  return {
    store: new RedisStore(servers, { nowUs: () => clock.nowUs() }),
    advanceUs: (us) => clock.advanceUs(us),
  };
});
