import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import { Deadline, DeadlineError } from '../../lib/redis/deadline.js';
import type { RedisServers } from '../../lib/redis/redis-servers.js';
import { RedisStore } from '../../lib/redis/redis-store.js';
import { serversOf } from '../../lib/redis/servers-of.js';
import { gateContract } from '../contract/gate.contract.js';
import { expectAllKeysExpire } from '../support/expect-all-keys-expire.js';
import { FakeClock } from '../support/fake-clock.js';
import { sharedRedis } from '../support/redis-servers.js';
import { TcpProxy } from '../support/tcp-proxy.js';

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

it('waits for news of a gate as patiently as for a turn', async () => {
  const proxy = await TcpProxy.to({ port: Number(new URL(sharedRedis.url).port) });
  const distant = serversOf(new Redis(proxy.port, '127.0.0.1'));
  const nowMs = () => performance.now();
  const store = new RedisStore(distant, {
    ...{ deadline: new Deadline(1, nowMs), patience: new Deadline(30_000, nowMs) },
  });
  const gate = { key: randomUUID(), probeUs: 1 };
  const bucket = { plan: definePlan('bucket', '1/s'), key: gate.key, cost: 1 };
  const rules = { threshold: 3, cooldownUs: 1, retryAfterUs: 0, generation: undefined };
  proxy.delayMs = 200;
  const blocked = store.changeGate({ kind: 'block', gate, bucket, memoryUs: 1e6, ...rules });
  expect(await blocked).toMatchObject({ blocks: 1 });
  expect(await store.lookAtGate(gate)).toMatchObject({ blocks: 1 });
  await expect(store.reset([bucket])).rejects.toThrow(DeadlineError);
  store.close();
  await proxy.close();
});
