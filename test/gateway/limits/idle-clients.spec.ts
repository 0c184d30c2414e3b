import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { LimitStore } from '../../../lib/core/limit-store.js';
import { checkGatewayConfig } from '../../../lib/gateway/config/check-gateway-config.js';
import type { GatewayAnswer } from '../../../lib/gateway/connections/gateway-answer.js';
import { GatewayLimiter } from '../../../lib/gateway/gateway-limiter.js';
import { MemoryStore } from '../../../lib/memory/memory-store.js';
import { RedisStore } from '../../../lib/redis/redis-store.js';
import { serversOf } from '../../../lib/redis/servers-of.js';
import { expectAllKeysExpire } from '../../support/expect-all-keys-expire.js';
import { FakeClock } from '../../support/fake-clock.js';
import { sharedRedis, until } from '../../support/redis-servers.js';

const LEASE_MS = 1_000;
const CONFIG = checkGatewayConfig({
  connectionLeaseMs: LEASE_MS,
  server: {
    rateLimit: {
      ...{ maxQps: 1_000_000, maxConnections: 1_000_000 },
      ...{ maxQpsPerClient: 100, maxConnectionsPerClient: 100 },
    },
  },
});

function gatewayOn(store: LimitStore): GatewayLimiter {
  return new GatewayLimiter(CONFIG, { store, newLeaseId: randomUUID });
}

/** Each client comes once. Every other one goes; of the rest, nobody ever hears again. */
async function visit(gateway: GatewayLimiter, count: number): Promise<void> {
  const answers: Promise<GatewayAnswer>[] = [];
  for (let i = 0; i < count; i++) {
    answers.push(gateway.enter({ clientIp: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}` }));
  }
  const going = (await Promise.all(answers)).filter((_, i) => i % 2 === 0);
  await Promise.all(going.map((answer) => answer.release()));
}

describe('clients that do not come any more', () => {
  describe('on Redis', () => {
    const keyPrefix = `idle-${randomUUID()}`;
    let admin: Redis;
    let store: RedisStore;

    beforeEach(() => {
      admin = new Redis(sharedRedis.url);
      store = new RedisStore(serversOf(new Redis(sharedRedis.url)), { keyPrefix });
    });

    afterEach(() => {
      store.close();
      admin.disconnect();
    });

    it('leave no key behind', async () => {
      const keys = () => admin.keys(`${keyPrefix}:*`);
      await visit(gatewayOn(store), 300);
      expect((await keys()).filter((key) => key.includes('client')).length).toBeGreaterThan(300);
      await expectAllKeysExpire(admin);
      // Two windows of a second, or a lease and what a key outlives it.
      await until('all keys to be gone', async () => (await keys()).length === 0);
    }, 15_000);
  });

  describe('in memory', () => {
    const COUNT = 20_000;
    const MINUTES_MS = 120_000;
    let clock: FakeClock;
    let store: MemoryStore;
    let gateway: GatewayLimiter;

    beforeEach(() => {
      clock = new FakeClock();
      store = new MemoryStore(clock);
      gateway = gatewayOn(store);
    });

    it.each([
      ['somebody who was there before', () => '192.0.2.1'],
      ['somebody else each time', (i: number) => `192.0.2.${i}`],
    ])('are forgotten while there is %s', async (_, clientIp) => {
      await (await gateway.enter({ clientIp: '192.0.2.1' })).release();
      const before = store.size;
      await visit(gateway, COUNT);
      expect(store.size).toBe(before + 2 * COUNT);
      clock.advanceMs(MINUTES_MS);
      for (let i = 0; i < 200; i++) {
        clock.advanceMs(1_000);
        await (await gateway.enter({ clientIp: clientIp(i) })).release();
      }
      // Whoever came within the last minute may still be remembered.
      expect(store.size).toBeLessThanOrEqual(before + 2 * 65);
    });

    it('are remembered while they are there, however idle', async () => {
      const client = { clientIp: '192.0.2.1' };
      const keeper = { hold: () => undefined, drop: () => undefined, limitHold: () => undefined };
      const answer = await new GatewayLimiter(CONFIG, {
        ...{ store, keeper, newLeaseId: randomUUID },
      }).enter(client);
      for (let i = 0; i < 200; i++) {
        clock.advanceMs(LEASE_MS / 2);
        store.renew([answer.held!]);
        await (await gateway.enter({ clientIp: `198.51.100.${i}` })).release();
      }
      expect((await gateway.current('client', client.clientIp)).connections).toBe(1);
    });
  });
});
