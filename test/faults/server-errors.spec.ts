import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Load, LOAD_PLANS } from '../support/load.js';
import { expectAllKeysExpire } from '../support/expect-all-keys-expire.js';
import { until } from '../support/redis-servers.js';
import { describeWithServers } from '../support/describe-with-servers.js';
import { faultReport } from './fault-report.js';
import type { App, Fault, Server } from './stage.js';
import { expectAllDecided, expectHarmless, PATIENT, playUnderLoad, Stage } from './stage.js';

const report = faultReport('Redis', 100);

/** A server on which nobody listens: port 1 of loopback. */
const NOBODY = ['127.0.0.1', 1] as const;

interface Scene {
  readonly stage: Stage;
  readonly server: Server;
  readonly admin: Redis;
}

type Play = Omit<Fault, 'name'> & {
  /** Why limits are not shared, as it is logged, where that is always the same. */
  readonly reason?: RegExp;
};

const setting = (admin: Redis, name: string, value: string | number) =>
  admin.config('SET', name, value);
const killClients = (admin: Redis) =>
  admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');

/** Errors that the server answers with, or because of which it does not answer. */
const PLAYS: readonly [name: string, play: (scene: Scene) => Play][] = [
  [
    'is out of memory (OOM)',
    ({ admin }) => ({
      strike: () => setting(admin, 'maxmemory', 1),
      heal: () => setting(admin, 'maxmemory', 0),
      reason: /OOM command not allowed/,
    }),
  ],
  [
    'becomes a replica (READONLY)',
    ({ admin }) => ({
      strike: () => admin.replicaof(...NOBODY),
      heal: () => admin.replicaof('NO', 'ONE'),
    }),
  ],
  [
    'has too few replicas (NOREPLICAS)',
    ({ admin }) => ({
      strike: () => setting(admin, 'min-replicas-to-write', 1),
      heal: () => setting(admin, 'min-replicas-to-write', 0),
      reason: /NOREPLICAS Not enough good replicas/,
    }),
  ],
  [
    'is kept busy by a script that does not end (BUSY)',
    ({ stage, server, admin }) => ({
      strike: async () => {
        await setting(admin, 'busy-reply-threshold', 200);
        void stage
          .admin(server)
          .eval('while true do end', 0)
          .catch(() => undefined);
      },
      heal: () => admin.script('KILL'),
      lastsMs: 500,
      reason: /BUSY|no answer within/,
    }),
  ],
  [
    'takes no writes for a while (CLIENT PAUSE WRITE)',
    ({ admin }) => ({
      strike: () => admin.call('CLIENT', 'PAUSE', 60_000, 'WRITE'),
      heal: () => admin.call('CLIENT', 'UNPAUSE'),
      reason: /no answer within/,
    }),
  ],
  [
    'takes no commands for a while (CLIENT PAUSE ALL)',
    ({ admin }) => ({
      strike: () => admin.call('CLIENT', 'PAUSE', 400, 'ALL'),
      // Nobody can end it; the answer says that it is over.
      heal: () => admin.ping(),
      reason: /no answer within/,
    }),
  ],
  [
    'takes no more clients (maxclients)',
    ({ admin }) => ({
      strike: async () => {
        await setting(admin, 'maxclients', 1);
        await killClients(admin);
      },
      heal: () => setting(admin, 'maxclients', 1_000),
    }),
  ],
  [
    'drops its clients every 50 ms (CLIENT KILL)',
    ({ admin }) => ({
      strike: async () => {
        for (let i = 0; i < 6; i++) {
          await killClients(admin);
          await pause(50);
        }
      },
      lastsMs: 0,
    }),
  ],
  [
    'no longer lets its user write (NOPERM)',
    ({ admin }) => ({
      strike: () => admin.call('ACL', 'SETUSER', 'default', '-hset'),
      heal: () => admin.call('ACL', 'SETUSER', 'default', '+hset'),
      // As Redis 7.0 says it, and as later ones do.
      reason: /The user executing the script|ACL failure in script/,
    }),
  ],
  [
    'asks for a password that it did not ask for before (NOAUTH)',
    ({ admin }) => ({
      strike: async () => {
        await setting(admin, 'requirepass', 'secret');
        await killClients(admin);
      },
      heal: () => setting(admin, 'requirepass', ''),
    }),
  ],
];

describeWithServers('native server', 'a Redis that', () => {
  let stage: Stage;
  let server: Server;
  let admin: Redis;
  let folder: string;

  beforeEach(async () => {
    stage = new Stage();
    folder = mkdtempSync(join(tmpdir(), 'floodgate-errors-'));
    server = await stage.server(['--dir', folder]);
    admin = stage.admin(server);
  });

  afterEach(async () => {
    await stage.end();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each(PLAYS)('%s harms nobody', async (name, play) => {
    const { limiter, lines } = await stage.app(server.url);
    const { reason = /./, ...fault } = play({ stage, server, admin });
    const outcome = await playUnderLoad(limiter, { name, ...fault });
    expectHarmless(outcome);
    expect(outcome.load.count('FAIL_OPEN')).toBeGreaterThan(0);
    expect(lines[0]).toMatch(/^Limits are no longer shared: Redis does not answer \(/);
    expect(lines.join('\n')).toMatch(reason);
    expect(lines.at(-1)).toMatch(/^Limits are shared again/);
    await expectAllKeysExpire(admin);
    report(outcome.row);
  });

  it('starts with much to load (LOADING) is used as soon as it has loaded it', async () => {
    await setting(admin, 'rdbcompression', 'no');
    for (let i = 0; i < 400; i++) void admin.set(`other:${i}`, 'x'.repeat(1_500), 'EX', 600);
    const { limiter } = await stage.app(server.url);
    const slowly = ['--key-load-delay', '1000', '--loading-process-events-interval-bytes', '1024'];
    const outcome = await playUnderLoad(limiter, {
      name: 'is restarted and loads for 0.4 s (LOADING)',
      strike: async () => {
        await admin.call('SHUTDOWN', 'SAVE').catch(() => undefined);
        await server.restart(['--dir', folder, ...slowly]);
      },
      heal: () => until('the end of loading', () => hasLoaded(admin)),
      lastsMs: 0,
    });
    expectHarmless(outcome);
    expect(outcome.load.count('FAIL_OPEN')).toBeGreaterThan(100);
    report(outcome.row);
  });

  it('forgets its scripts (SCRIPT FLUSH) answers the same call, and counts exactly', async () => {
    const { limiter, lines } = await stage.app(server.url, PATIENT);
    const outcome = await playUnderLoad(limiter, {
      name: 'forgets its scripts (SCRIPT FLUSH)',
      strike: () => admin.script('FLUSH'),
      lastsMs: 50,
    });
    expectAllDecided(outcome);
    expect(lines).toEqual([]);
    await expectExactCounts(outcome.load.admitted('roomy'), { limiter });
    report(outcome.row);
  });

  it('forgets everything over and over (FLUSHALL) lets everybody start anew, and goes on', async () => {
    const { limiter, lines } = await stage.app(server.url, PATIENT);
    const outcome = await playUnderLoad(limiter, {
      name: 'forgets everything every 50 ms (FLUSHALL)',
      strike: (load) =>
        repeat(6, 50, async () => {
          await admin.flushall();
          load.forget();
        }),
      lastsMs: 0,
    });
    expectAllDecided(outcome);
    expect(lines).toEqual([]);
    await expectAllKeysExpire(admin);
    report(outcome.row);
  });

  it('may evict keys is warned of at start, and goes on when it does', async () => {
    const evicting = await stage.server([
      ...['--maxmemory', '3mb', '--maxmemory-policy', 'allkeys-lru'],
    ]);
    const { limiter, lines } = await stage.app(evicting.url, PATIENT);
    expect(lines).toEqual([expect.stringContaining('its maxmemory-policy is "allkeys-lru"')]);
    for (let i = 0; i < 20_000; i += 1_000) {
      const users = Array.from({ length: 1_000 }, (_, j) => `user-${i + j}`);
      const results = await Promise.all(users.map((user) => limiter.allow(user, 'roomy')));
      expect(results.every(({ allowed }) => allowed)).toBe(true);
    }
    expect(await stage.admin(evicting).info('stats')).not.toContain('evicted_keys:0\r');
  });

  it.each([
    ['-evalsha', 'EVALSHA'],
    ['-hset', 'HSET'],
  ])('forbids our user what it needs (%s) says at start what that is', async (rule, named) => {
    await admin.call('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '+@all', rule);
    const { limiter, lines } = await stage.app(`redis://app:secret@127.0.0.1:${server.port}`);
    expect(lines).toEqual([expect.stringContaining(`The Redis user may not run ${named} on keys`)]);
    const load = new Load(limiter);
    await until('some calls', () => load.calls > 300);
    await load.stop();
    expect(load.count('FAIL_OPEN')).toBe(load.calls);
    expect(lines).toHaveLength(2);
  });

  it.each([
    ['knows another password', () => `redis://:wrong@127.0.0.1:${server.port}`, /WRONGPASS/],
    ['asks for a password', () => server.url, /NOAUTH/],
    ['cannot be found', () => 'redis://no-such-host.invalid', /ENOTFOUND|EAI_AGAIN/],
    ['is not there', () => 'redis://127.0.0.1:1', /ECONNREFUSED/],
  ])('%s says so once, and lets everybody pass', async (_what, url, reason) => {
    await setting(admin, 'requirepass', 'secret');
    const { limiter, lines } = await stage.app(url());
    const load = new Load(limiter);
    await until('some calls', () => load.calls > 300);
    await load.stop();
    expect(load.errors).toEqual([]);
    expect(load.count('FAIL_OPEN')).toBe(load.calls);
    expect(load.longestWaitMs).toBeLessThan(5 + 2 * load.lagMs);
    expect(lines).toEqual([expect.stringMatching(reason)]);
  });
});

async function repeat(times: number, everyMs: number, work: () => Promise<unknown>): Promise<void> {
  for (let i = 0; i < times; i++) {
    await work();
    await pause(everyMs);
  }
}

/** A server that loads answers PING with an error. */
async function hasLoaded(admin: Redis): Promise<boolean> {
  return admin.ping().then(
    () => true,
    () => false,
  );
}

async function expectExactCounts(
  admitted: Map<string, number>,
  { limiter }: Pick<App, 'limiter'>,
): Promise<void> {
  expect(admitted.size).toBeGreaterThan(0);
  for (const [key, count] of admitted) {
    const { remainingTokens } = await limiter.peek(key, 'roomy');
    expect([key, remainingTokens]).toEqual([key, LOAD_PLANS.roomy.capacity - count]);
  }
}
