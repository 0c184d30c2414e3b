import { afterAll, beforeAll } from '@jest/globals';
import { connect, waitForReady } from '../../lib/redis/connect.js';
import { MovingSlotStore } from '../../lib/redis/moving-slot-store.js';
import { MovingSlots } from '../../lib/redis/moving-slots.js';
import { RedisConnection } from '../../lib/redis/redis-connection.js';
import { RedisKeys } from '../../lib/redis/redis-keys.js';
import type { RedisServers } from '../../lib/redis/redis-servers.js';
import { RedisStore } from '../../lib/redis/redis-store.js';
import { serversOf } from '../../lib/redis/servers-of.js';
import { SlotSplitStore } from '../../lib/redis/slot-split-store.js';
import { limitStoreContract } from '../contract/limit-store.contract.js';
import { describeWithServers } from '../support/describe-with-servers.js';
import { expectAllKeysExpire } from '../support/expect-all-keys-expire.js';
import { FakeClock } from '../support/fake-clock.js';
import { sharedRedis } from '../support/redis-servers.js';

const SLOTS = 16_384;

// All slots count as moving for ever, so that every chain is decided key by key.
describeWithServers('cluster', 'on a cluster whose slots are moving,', () => {
  let servers: RedisServers;

  beforeAll(async () => {
    servers = serversOf(connect(sharedRedis.cluster));
    await waitForReady(servers.client, 5_000);
  });

  afterAll(async () => {
    await expectAllKeysExpire(...servers.masters());
    servers.close();
  });

  function createStore(clock: FakeClock) {
    const moving = new MovingSlots(() => 0);
    for (let slot = 0; slot < SLOTS; slot++) moving.add(slot);
    const redis = new RedisStore(servers, { nowUs: () => clock.nowUs(), moving });
    const places = new RedisConnection(servers, redis, new RedisKeys());
    const store = new MovingSlotStore(redis, places, moving);
    return new SlotSplitStore(store, (limit) => places.slotOf(limit));
  }

  limitStoreContract('a Redis store', () => {
    const clock = new FakeClock(1_800_000_000_000_003);
    return {
      store: createStore(clock),
      decidesKeyByKey: true,
      advanceUs: (us) => clock.advanceUs(us),
      close: () => undefined,
    };
  });
});
