import { performance } from 'node:perf_hooks';
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { RateLimiter } from '../../lib/index.js';
import { LOAD_PLANS } from '../support/load.js';
import { describeWithServers } from '../support/describe-with-servers.js';
import { expectAllKeysExpire } from '../support/expect-all-keys-expire.js';
import type { Farm, SentinelServers } from '../support/redis-servers.js';
import { createFarm, until } from '../support/redis-servers.js';
import { faultReport } from './fault-report.js';
import { expectAllDecided, expectHarmless, PATIENT, playUnderLoad, Stage } from './stage.js';

const report = faultReport('Sentinel');
const DOWN = /^Limits are no longer shared: Redis does not answer \(/;
const UP = /^Limits are shared again: Redis was away for \d+\.\d s, \d+ decisions/;

// Sentinels take seconds to agree, more on a busy machine.
describeWithServers('sentinel', 'a master that sentinels watch', () => {
  let farm: Farm;
  let watched: SentinelServers;
  let stage: Stage;
  let admins: Map<number, Redis>;

  beforeAll(async () => {
    farm = createFarm();
    watched = await farm.sentinel();
  });

  afterAll(async () => {
    await farm.stop();
  });

  beforeEach(() => {
    stage = new Stage();
    admins = new Map();
  });

  afterEach(async () => {
    await untilAgreed();
    await expectAllKeysExpire(adminOf(await masterPort()));
    await stage.end();
  });

  const app = (options = {}) =>
    stage.app({ name: watched.name, sentinels: watched.nodes }, options);

  function adminOf(port: number): Redis {
    let admin = admins.get(port);
    if (!admin) admins.set(port, (admin = stage.admin({ port })));
    return admin;
  }

  /** Whom a sentinel takes for the master: the last one, for the first may be dead. */
  async function masterPort({ port } = watched.nodes.at(-1)!): Promise<number> {
    const address = await adminOf(port).call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', watched.name);
    return Number((address as string[])[1]);
  }

  /** Until the last sentinel has heard of a new master; who has not yet tells applications later. */
  async function untilAgreed(): Promise<void> {
    await until('the sentinels to agree', async () => {
      const ports = await Promise.all(watched.nodes.map(masterPort));
      return ports.every((port) => port === ports[0]);
    });
  }

  const serverAt = (wanted: number) =>
    [watched.master, ...watched.replicas].find(({ port }) => port === wanted)!;

  /** Until there is another master, and it knows that it is. */
  async function untilReplaced(old: number): Promise<void> {
    await until('another master', async () => {
      const port = await masterPort();
      return port !== old && (await adminOf(port).role())[0] === 'master';
    });
  }

  /** Until applications ask the master; a replica hears of results only, never of scripts. */
  async function untilAsked(): Promise<void> {
    const master = adminOf(await masterPort());
    await until('the new master to be asked', async () =>
      (await master.info('commandstats')).includes('cmdstat_evalsha'),
    );
  }

  it('is found though a sentinel hangs', async () => {
    const [hanging] = watched.sentinels;
    hanging!.halt();
    const beforeMs = performance.now();
    const { limiter } = await app();
    expect(performance.now() - beforeMs).toBeLessThan(2_000);
    expect((await limiter.allow('ada', 'roomy')).reason).toBe('ALLOWED');
    hanging!.resume();
  });

  it('is used on while all sentinels are dead', async () => {
    // A connection that is given up for being slow could not be made anew.
    const { limiter, lines } = await app(PATIENT);
    const outcome = await playUnderLoad(limiter, {
      name: 'all sentinels are killed',
      strike: () => Promise.all(watched.sentinels.map((sentinel) => sentinel.kill())),
      lastsMs: 1_000,
      heal: () => Promise.all(watched.sentinels.map((sentinel) => sentinel.start())),
    });
    expectAllDecided(outcome);
    expect(lines).toEqual([]);
    report(outcome.row);
  });

  it('is replaced as planned: what the old one still hears is lost, never more', async () => {
    const old = await masterPort();
    const { limiter } = await app();
    let switchedMs = 0;
    const { row, load } = await playUnderLoad(limiter, {
      name: 'another takes over as planned (SENTINEL FAILOVER)',
      strike: async () => {
        const beforeMs = performance.now();
        await adminOf(watched.nodes[0]!.port).call('SENTINEL', 'FAILOVER', watched.name);
        await untilReplaced(old);
        await untilAsked();
        switchedMs = performance.now() - beforeMs;
      },
      lastsMs: 0,
    });
    expect(switchedMs).toBeLessThan(2_000 + 2 * load.lagMs);
    // Both masters count from what they have: a key gets at most what one bucket holds twice.
    expect(row.overAdmission).toBeLessThanOrEqual(LOAD_PLANS.tight.capacity);
    expectHarmless({ row: { ...row, overAdmission: 0 }, load });
    report(row);
  });

  it('is killed: all applications share again as soon as there is another one', async () => {
    const old = serverAt(await masterPort());
    const { limiter } = await app();
    // Who knows one sentinel only is often just about to ask it when the new master is announced.
    const others = await Promise.all(
      watched.nodes.map((one) =>
        stage.app({ name: watched.name, sentinels: [one], updateSentinels: false }),
      ),
    );
    const outcome = await playUnderLoad(limiter, {
      name: 'the master is killed',
      strike: () => old.kill(),
      lastsMs: 0,
      heal: () => untilReplaced(old.port),
    });
    await old.start();
    expectHarmless(outcome);
    expect(outcome.load.count('FAIL_OPEN')).toBeGreaterThan(100);
    await Promise.all(others.map((other) => untilShared(other.limiter)));
    report(outcome.row);
  });

  it('hangs: limits are shared again as soon as there is another one', async () => {
    const old = serverAt(await masterPort());
    const { limiter, lines } = await app();
    const callers = 20;
    const outcome = await playUnderLoad(limiter, {
      name: 'the master hangs (SIGSTOP)',
      strike: () => Promise.resolve(old.halt()),
      lastsMs: 0,
      heal: () => untilReplaced(old.port),
      load: { callers },
    });
    old.resume();
    expectHarmless(outcome);
    expect(outcome.load.waitedInVain(25)).toBeLessThanOrEqual(callers);
    await expectToldInPairs(lines);
    report(outcome.row);
  });
});

async function untilShared(limiter: RateLimiter): Promise<void> {
  await until(
    'limits to be shared',
    async () => (await limiter.allow('back', 'roomy')).reason === 'ALLOWED',
  );
}

/** Every sentinel announces the new master by itself, and each time ioredis connects anew. */
async function expectToldInPairs(lines: readonly string[]): Promise<void> {
  await until('a pair', () => lines.length >= 2 && lines.length % 2 === 0);
  expect(lines.length).toBeLessThanOrEqual(2 * 3);
  expect(lines.filter((line) => DOWN.test(line))).toEqual(lines.filter((_, i) => i % 2 === 0));
  expect(lines.filter((line) => UP.test(line))).toEqual(lines.filter((_, i) => i % 2 === 1));
}
