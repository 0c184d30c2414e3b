import { readdirSync, readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import { connect, waitForReady } from '../../lib/redis/connect.js';
import type { RedisServers } from '../../lib/redis/redis-servers.js';
import { RedisStore } from '../../lib/redis/redis-store.js';
import {
  checkServers,
  COMMANDS,
  NEWS_COMMANDS,
  TURN_COMMANDS,
} from '../../lib/redis/server-check.js';
import { serversOf } from '../../lib/redis/servers-of.js';
import { describeWithServers } from '../support/describe-with-servers.js';
import type { Farm } from '../support/redis-servers.js';
import { createFarm } from '../support/redis-servers.js';

/** As its documentation shows it. */
const MINIMAL = minimalAcl();

function minimalAcl(): string[] {
  const rule = /ACL SETUSER floodgate on >secret (.+?)\n```/s.exec(
    readFileSync('lib/redis/README.md', 'utf8'),
  );
  return rule![1]!.split(/[\s\\]+/);
}

describe('the commands that are checked', () => {
  it('are those that the scripts and a reset run', () => {
    const scripts = readdirSync('lua').filter((name) => name.endsWith('.lua'));
    const used = scripts.flatMap((name) => {
      const source = readFileSync(`lua/${name}`, 'utf8');
      return [...source.matchAll(/call\('([A-Z]+)'/g)].map(([, command]) => command!.toLowerCase());
    });
    const checked = new Set([...COMMANDS, ...NEWS_COMMANDS, ...TURN_COMMANDS]);
    // Run without a script.
    for (const command of ['subscribe', 'del']) checked.delete(command);
    expect([...checked].sort()).toEqual([...new Set(used)].sort());
  });
});

describeWithServers('native server', 'a look at the server', () => {
  let farm: Farm;
  let port: number;
  let admin: Redis;
  let servers: RedisServers | undefined;

  beforeAll(async () => {
    farm = createFarm();
    ({ port } = await farm.single());
    admin = connect({ port }) as Redis;
    await waitForReady(admin, 5_000);
  });

  beforeEach(async () => {
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
    await admin.call('ACL', 'SETUSER', 'floodgate', 'reset', 'on', '>secret', ...MINIMAL);
  });

  afterEach(() => servers?.close());

  afterAll(async () => {
    admin.disconnect();
    await farm.stop();
  });

  async function warnings(): Promise<string[]> {
    servers = serversOf(connect({ port, username: 'floodgate', password: 'secret' }));
    await waitForReady(servers.client, 5_000);
    return checkServers(servers, 'rate_limiter');
  }

  it('finds nothing to say about one that is as it should be', async () => {
    expect(await warnings()).toEqual([]);
  });

  it('warns of a server that evicts', async () => {
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
    expect(await warnings()).toEqual([
      'Redis may forget limits when its memory is full, and counts them from zero then: ' +
        'its maxmemory-policy is "allkeys-lru". Set it to "noeviction".',
    ]);
  });

  it('names commands that the user may not run inside a script', async () => {
    await admin.call('ACL', 'SETUSER', 'floodgate', '-hset', '-zadd');
    expect(await warnings()).toEqual([
      'The Redis user may not run HSET, ZADD on keys that start with "rate_limiter:", ' +
        'so that limits are not enforced. Give it: ~rate_limiter:* +hset +zadd',
    ]);
  });

  it.each([
    ['evalsha', 'EVALSHA'],
    ['script|load', 'SCRIPT|LOAD'],
  ])('names %s when it is forbidden', async (command, named) => {
    await admin.call('ACL', 'SETUSER', 'floodgate', `-${command}`);
    expect(await warnings()).toEqual([expect.stringContaining(`may not run ${named} on keys`)]);
  });

  it('tells when the keys are out of bounds', async () => {
    await admin.call('ACL', 'SETUSER', 'floodgate', 'resetkeys', '~others:*');
    const [warning] = await warnings();
    expect(warning).toContain('HMGET, HSET');
    expect(warning).toContain('~rate_limiter:*');
  });

  it('shows that the smallest documented set of rights is enough for everything', async () => {
    expect(await warnings()).toEqual([]);
    const store = new RedisStore(servers!);
    const limits = [
      { plan: definePlan('bucket', '5/minute'), key: 'k', cost: 1 },
      { plan: definePlan('window', { limit: 5, windowMs: 60_000 }), key: 'k', cost: 1 },
      { plan: definePlan('slots', { maxConcurrent: 1 }), key: 'k', cost: 1 },
    ];
    const inquiry = { limits, mode: 'take', maxWaitUs: 0, leaseId: 'one' } as const;
    expect((await store.decide(inquiry)).allowed).toBe(true);
    expect((await store.decide({ ...inquiry, leaseId: 'two' })).allowed).toBe(false);
    expect(await store.renew([{ leaseId: 'one', limits: [limits[2]!] }])).toEqual([true]);
    await store.giveBack({ kind: 'release', limits: [limits[2]!], leaseId: 'one' });
    await store.giveBack({ kind: 'refund', limits });
    await store.reset(limits);
    expect(await admin.dbsize()).toBe(0);
  });
});
