import calculateSlot from 'cluster-key-slot';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { describe, expect, it } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import { RedisKeys } from '../../lib/redis/redis-keys.js';
import { describeWithServers } from '../support/describe-with-servers.js';
import { sharedRedis } from '../support/redis-servers.js';

const PLANS = [
  definePlan('gold', '5/s'),
  definePlan('per-minute', { limit: 5, windowMs: 60_000 }),
  definePlan('slots', { maxConcurrent: 2, leaseMs: 1_000 }),
];

const keys = new RedisKeys();
const anyKey = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1 }),
  fc.string({ unit: fc.constantFrom('{', '}', 'a', ':', '#'), minLength: 1 }),
);

const namesOf = (key: string) => PLANS.map((plan) => keys.nameOf({ plan, key, cost: 1 }));

describe('the keys of limits', () => {
  it('live in one slot for all plans of one key, whatever the key', () => {
    fc.assert(
      fc.property(anyKey, (key) => {
        const slots = [...namesOf(key), keys.gateOf({ key })].map(calculateSlot);
        expect(new Set(slots).size).toBe(1);
      }),
    );
  });

  it('differ for every plan and every key', () => {
    fc.assert(
      fc.property(anyKey, anyKey, (one, other) => {
        const names = [...namesOf(one), ...namesOf(other)];
        expect(new Set(names).size).toBe(one === other ? PLANS.length : 2 * PLANS.length);
      }),
    );
  });

  it.each(['{a}', '{a}b', 'b{a}', '{a', 'a}', '{}', '{}a'])(
    'leave the slot of %s to chance, not to whoever chose it',
    (key) => {
      const slots = new Set(namesOf(key).map(calculateSlot));
      expect(slots).not.toContain(calculateSlot('a'));
      expect(slots).not.toContain(calculateSlot(key));
    },
  );
});

describeWithServers('cluster', 'a cluster', () => {
  it('puts the keys of limits where we look for them', async () => {
    const { host, port } = sharedRedis.cluster[0]!;
    const client = new Redis(port, host);
    const names = fc.sample(anyKey, 300).flatMap(namesOf);
    const slots = await Promise.all(names.map((name) => client.cluster('KEYSLOT', name)));
    client.disconnect();
    expect(slots).toEqual(names.map(calculateSlot));
  });
});
