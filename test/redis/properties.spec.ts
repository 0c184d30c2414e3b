import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll } from '@jest/globals';
import type { RedisServers } from '../../lib/redis/redis-servers.js';
import { serversOf } from '../../lib/redis/servers-of.js';
import { RedisStore } from '../../lib/redis/redis-store.js';
import { limitStoreProperties } from '../contract/limit-store.properties.js';
import { FakeClock } from '../support/fake-clock.js';

/** Raise it to search longer: FAST_CHECK_RUNS=10000 npm test -- test/redis/properties */
const RUNS = Number(process.env['FAST_CHECK_RUNS'] ?? 150);

let client: Redis;
let servers: RedisServers;

beforeAll(() => {
  client = new Redis(process.env['TEST_REDIS_URL']!);
  servers = serversOf(client);
});

afterAll(() => {
  servers.close();
});

limitStoreProperties(
  'a Redis store',
  () => {
    const clock = new FakeClock(1_800_000_000_000_003);
    // A prefix of its own, so that it finds nothing of those before it.
    const options = { keyPrefix: randomUUID(), nowUs: () => clock.nowUs() };
    return { clock, store: new RedisStore(servers, options) };
  },
  { runs: RUNS, bookingRuns: 2 * RUNS, millisecondsEach: 20 * RUNS },
);
