import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import type { RedisServers } from '../../lib/redis/redis-servers.js';
import { serversOf } from '../../lib/redis/servers-of.js';
import { RedisStore } from '../../lib/redis/redis-store.js';
import { limitStoreContract } from '../contract/limit-store.contract.js';
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

limitStoreContract('a Redis store', () => {
  const clock = new FakeClock(1_800_000_000_000_003);
  return {
    store: new RedisStore(servers, { nowUs: () => clock.nowUs() }),
    advanceUs: (us) => clock.advanceUs(us),
    close: () => undefined,
  };
});

it('decides by the time of the server when it is told none', async () => {
  const store = new RedisStore(servers);
  const before = Date.now();
  const { atUs } = await store.decide({
    limits: [
      {
        plan: definePlan('clock', '1/s'),
        key: 'k',
        cost: 1,
      },
    ],
    mode: 'take',
    maxWaitUs: 0,
    leaseId: '',
  });
  expect(Math.abs(atUs / 1_000 - before)).toBeLessThan(1_000);
});

it('tells what each round trip was for', async () => {
  const told: string[] = [];
  const listener = { onOperation: (operation: string) => void told.push(operation) };
  const store = new RedisStore(servers, { listener, nowMs: () => 0 });
  const limits = [{ plan: definePlan('timed', { maxConcurrent: 1 }), key: 'timed', cost: 1 }];
  const lease = { leaseId: 'timed', limits };
  await store.decide({ ...lease, mode: 'take', maxWaitUs: 0 });
  await store.renew([lease]);
  await store.giveBack({ kind: 'release', ...lease });
  const spent = [{ plan: definePlan('timed', '1/s'), key: 'timed', cost: 1 }];
  await store.giveBack({ kind: 'refund', limits: spent });
  await store.reset(spent);
  await store.documents.readDocument('timed');
  await store.lookAtGate({ key: 'timed', probeUs: 1 });
  expect(told).toEqual(['decide', 'renew', 'release', 'give_back', 'reset', 'document', 'gate']);
});
