import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import { Deadline } from '../../lib/redis/deadline.js';
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

it('is patient with those who would wait anyway, unless somebody travels with them who would not', async () => {
  const [deadline, patience] = [10_000, 20_000].map((ms) => new Deadline(ms, () => 0));
  const asked = {
    deadline: jest.spyOn(deadline!, 'within'),
    patience: jest.spyOn(patience!, 'within'),
  };
  const store = new RedisStore(servers, { deadline, patience });
  const ask = (mode: 'take' | 'reserve', maxWaitUs: number) => {
    const limits = [{ plan: definePlan('patient', '1000/s'), key: 'patient', cost: 1 }];
    return store.decide({ limits, mode, maxWaitUs, leaseId: '' });
  };
  const timesAsked = () => [asked.deadline, asked.patience].map(({ mock }) => mock.calls.length);
  await ask('take', 0);
  expect(timesAsked()).toEqual([1, 0]);
  await ask('reserve', 0);
  expect(timesAsked()).toEqual([2, 0]);
  await ask('reserve', 1);
  expect(timesAsked()).toEqual([2, 1]);
  await Promise.all([ask('reserve', 1), ask('take', 0)]);
  expect(timesAsked()).toEqual([3, 1]);
});
