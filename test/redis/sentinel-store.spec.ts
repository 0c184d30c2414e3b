import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { connect, waitForReady } from '../../lib/redis/connect.js';
import type { RedisServers } from '../../lib/redis/redis-servers.js';
import { RedisStore } from '../../lib/redis/redis-store.js';
import { serversOf } from '../../lib/redis/servers-of.js';
import { gateContract } from '../contract/gate.contract.js';
import { limitStoreContract } from '../contract/limit-store.contract.js';
import { describeWithServers } from '../support/describe-with-servers.js';
import { expectAllKeysExpire } from '../support/expect-all-keys-expire.js';
import { FakeClock } from '../support/fake-clock.js';
import { sharedRedis } from '../support/redis-servers.js';

describeWithServers('sentinel', 'found by sentinels,', () => {
  let servers: RedisServers;

  beforeAll(async () => {
    servers = serversOf(connect(sharedRedis.sentinel));
    await waitForReady(servers.client, 5_000);
  });

  afterAll(async () => {
    await expectAllKeysExpire(...servers.masters());
    servers.close();
  });

  it('is the master', async () => {
    expect((await servers.client.role())[0]).toBe('master');
  });

  gateContract('a Redis store', () => {
    const clock = new FakeClock(1_800_000_000_000_003);
    return {
      store: new RedisStore(servers, { nowUs: () => clock.nowUs() }),
      advanceUs: (us) => clock.advanceUs(us),
    };
  });

  limitStoreContract('a Redis store', () => {
    const clock = new FakeClock(1_800_000_000_000_003);
    return {
      store: new RedisStore(servers, { nowUs: () => clock.nowUs() }),
      advanceUs: (us) => clock.advanceUs(us),
      close: () => undefined,
    };
  });
});
