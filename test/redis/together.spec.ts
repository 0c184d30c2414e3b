import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import type { Decision, Inquiry, Limit } from '../../lib/core/limit-store.js';
import type { RedisServers } from '../../lib/redis/redis-servers.js';
import { RedisStore } from '../../lib/redis/redis-store.js';
import { serversOf } from '../../lib/redis/servers-of.js';
import { expectAllKeysExpire } from '../support/expect-all-keys-expire.js';
import { sharedRedis } from '../support/redis-servers.js';

const RUNS = Number(process.env['FAST_CHECK_RUNS'] ?? 150);
const START_US = 1_800_000_000_000_007;

/** Some of one name, as in processes that have not all heard of a change of limits. */
const PLANS = [
  definePlan('bucket', { capacity: 9, tokensPerSecond: 1.7 }),
  definePlan('bucket', { capacity: 30, tokensPerSecond: 7 }),
  definePlan('window', { limit: 7, windowMs: 1_300 }),
  definePlan('window', { limit: 20, windowMs: 4_000 }),
  definePlan('either', { limit: 12, windowMs: 2_000 }),
  definePlan('either', { capacity: 20, tokensPerSecond: 4 }),
  definePlan('slots', { maxConcurrent: 5, leaseMs: 1_000 }),
  definePlan('slots', { maxConcurrent: 8, leaseMs: 3_000 }),
  definePlan('shadow', { limit: 2, windowMs: 1_000, shadow: true }),
] as const;

const chain = fc.record({
  plans: fc.uniqueArray(fc.integer({ min: 0, max: PLANS.length - 1 }), {
    minLength: 1,
    maxLength: 4,
    selector: (i) => PLANS[i]!.name,
  }),
  key: fc.constantFrom('a', 'a', 'b'),
  cost: fc.integer({ min: 1, max: 3 }),
  mode: fc.constantFrom<Inquiry['mode']>('take', 'take', 'take', 'peek', 'reserve'),
  maxWaitUs: fc.constantFrom(0, 5_000_000),
  leaseNumber: fc.integer({ min: 0, max: 30 }),
});

/** Chains of one turn, after a pause or a step of the clock backwards. */
const turn = fc.record({
  pauseUs: fc.oneof(fc.constant(0), fc.integer({ min: -2_000_000, max: 3_000_000 })),
  chains: fc.array(chain, { minLength: 1, maxLength: 40 }),
});

let client: Redis;
let servers: RedisServers;

beforeAll(() => {
  client = new Redis(sharedRedis.url);
  servers = serversOf(client);
});

afterEach(() => {
  jest.restoreAllMocks();
});

afterAll(async () => {
  await expectAllKeysExpire(client);
  servers.close();
});

function said({ limits, ...decision }: Decision) {
  return { ...decision, limits: limits.map(({ limit: _, ...one }) => one) };
}

/** Without the fields of the kind that was not charged last: they are not read any more. */
function withoutLeftovers(fields: Record<string, Buffer>): Record<string, Buffer> {
  const isOfBucket = [16, 64].includes(fields['x']?.length ?? 0);
  const leftovers = isOfBucket ? ['ws', 'c', 'p'] : ['t', 'ts'];
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !leftovers.includes(name)));
}

/** All that is stored, by the names of keys without their prefix. */
async function stored(prefix: string): Promise<Record<string, unknown>> {
  const names = (await client.keys(`${prefix}:*`)).sort();
  const contents = names.map(async (name) => {
    const content = name.endsWith(':leases')
      ? await client.zrange(name, '0', '-1', 'WITHSCORES')
      : withoutLeftovers(await client.hgetallBuffer(name));
    return [name.slice(prefix.length), content] as const;
  });
  return Object.fromEntries(await Promise.all(contents));
}

describe('chains that are decided in the same turn', () => {
  it('hear and leave behind what they would one after the other', async () => {
    const same = fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 5 }), async (turns) => {
      let nowUs = START_US;
      const prefixes = [randomUUID(), randomUUID()] as const;
      const [together, inTurn] = prefixes.map(
        (keyPrefix) => new RedisStore(servers, { keyPrefix, nowUs: () => nowUs }),
      ) as [RedisStore, RedisStore];
      for (const { pauseUs, chains } of turns) {
        nowUs += pauseUs;
        const inquiries = chains.map(({ plans, key, cost, leaseNumber, ...rest }): Inquiry => {
          const limits = plans.map((i): Limit => ({ plan: PLANS[i]!, key, cost }));
          return { ...rest, limits, leaseId: `lease-${leaseNumber}` };
        });
        const heard = await Promise.all(inquiries.map((inquiry) => together.decide(inquiry)));
        const expected: Decision[] = [];
        for (const inquiry of inquiries) expected.push(await inTurn.decide(inquiry));
        expect(heard.map(said)).toEqual(expected.map(said));
        expect(await stored(prefixes[0])).toEqual(await stored(prefixes[1]));
      }
    });
    await fc.assert(same, { numRuns: RUNS, interruptAfterTimeLimit: 20_000 });
  }, 60_000);
});

describe('many leases', () => {
  const slots = definePlan('many', { maxConcurrent: 1_000, leaseMs: 60_000 });
  const leases = Array.from({ length: 200 }, (_, i) => ({
    leaseId: `lease-${i}`,
    limits: [{ plan: slots, key: 'all', cost: 1 }],
  }));

  async function held(): Promise<{ store: RedisStore; set: string }> {
    const keyPrefix = randomUUID();
    const store = new RedisStore(servers, { keyPrefix });
    const take = { mode: 'take', maxWaitUs: 0 } as const;
    await Promise.all(leases.map((lease) => store.decide({ ...lease, ...take })));
    return { store, set: `${keyPrefix}:many:{all}:leases` };
  }

  it('that are released in the same turn travel together, and each hears whether it was held', async () => {
    const { store, set } = await held();
    await store.giveBack({ kind: 'release', ...leases[7]! });
    const evalsha = jest.spyOn(client, 'evalsha');
    const released = await Promise.all(
      leases.map((lease) => store.giveBack({ kind: 'release', ...lease })),
    );
    expect(evalsha).toHaveBeenCalledTimes(Math.ceil(leases.length / 32));
    expect(released).toEqual(leases.map((_, i) => i !== 7));
    expect(await client.exists(set)).toBe(0);
  });

  it('are renewed in parts, and each hears whether it is still held', async () => {
    const { store, set } = await held();
    await client.zrem(set, 'lease-3', 'lease-150');
    const evalsha = jest.spyOn(client, 'evalsha');
    const alive = await store.renew(leases);
    expect(evalsha).toHaveBeenCalledTimes(Math.ceil(leases.length / 64));
    expect(alive).toEqual(leases.map((_, i) => i !== 3 && i !== 150));
  });
});
