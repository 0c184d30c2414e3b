import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { connect, waitForReady } from '../../lib/redis/connect.js';
import { RedisKeys } from '../../lib/redis/redis-keys.js';
import type { RedisServers } from '../../lib/redis/redis-servers.js';
import { RedisStore } from '../../lib/redis/redis-store.js';
import { serversOf } from '../../lib/redis/servers-of.js';
import { SlotSplitStore } from '../../lib/redis/slot-split-store.js';
import { gateContract } from '../contract/gate.contract.js';
import { limitStoreContract } from '../contract/limit-store.contract.js';
import { describeWithServers } from '../support/describe-with-servers.js';
import { expectAllKeysExpire } from '../support/expect-all-keys-expire.js';
import { FakeClock } from '../support/fake-clock.js';
import { sharedRedis } from '../support/redis-servers.js';

describeWithServers('cluster', 'on a cluster,', () => {
  let servers: RedisServers;

  beforeAll(async () => {
    servers = serversOf(connect(sharedRedis.cluster));
    await waitForReady(servers.client, 5_000);
  });

  afterAll(async () => {
    await expectAllKeysExpire(...servers.masters());
    servers.close();
  });

  limitStoreContract('a Redis store', () => {
    const clock = new FakeClock(1_800_000_000_000_003);
    const keys = new RedisKeys();
    const store = new RedisStore(servers, { nowUs: () => clock.nowUs() });
    return {
      store: new SlotSplitStore(store, (limit) => servers.slotOf(keys.nameOf(limit))),
      advanceUs: (us) => clock.advanceUs(us),
      close: () => undefined,
    };
  });

  gateContract('a Redis store', () => {
    const clock = new FakeClock(1_800_000_000_000_003);
    const keys = new RedisKeys();
    const store = new RedisStore(servers, { nowUs: () => clock.nowUs() });
    return {
      store: new SlotSplitStore(store, (limit) => servers.slotOf(keys.nameOf(limit))),
      advanceUs: (us) => clock.advanceUs(us),
    };
  });

  it('has spread the keys over all masters', async () => {
    const sizes = await Promise.all(servers.masters().map((master) => master.dbsize()));
    expect(sizes).toHaveLength(3);
    expect(Math.min(...sizes)).toBeGreaterThan(0);
  });
});
