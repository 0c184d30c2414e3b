import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { RateLimiter } from '../../lib/index.js';
import { describeWithServers } from '../support/describe-with-servers.js';
import { expectAllKeysExpire } from '../support/expect-all-keys-expire.js';
import type { Load } from '../support/load.js';
import type { ClusterServers, Farm } from '../support/redis-servers.js';
import { createFarm, until } from '../support/redis-servers.js';
import { Bystanders } from './bystanders.js';
import type { ClusterNode } from './cluster-view.js';
import { ClusterView, slotOf } from './cluster-view.js';
import { faultReport } from './fault-report.js';
import { lostDecisions } from './lost-decisions.js';
import {
  DEADLINE_MS,
  expectAllDecided,
  expectHarmless,
  PATIENT,
  playUnderLoad,
  Stage,
} from './stage.js';

const report = faultReport('Cluster');

/** A slot of each. Nobody votes twice within seconds about the same one, so tests take turns. */
const SHARDS = [0, 8_000, 16_000] as const;

// A cluster takes seconds to elect a master, more on a busy machine.
describeWithServers('cluster', 'a cluster', () => {
  let farm: Farm;
  let cluster: ClusterServers;
  let stage: Stage;
  let view: ClusterView;

  beforeAll(async () => {
    farm = createFarm();
    cluster = await farm.cluster();
  });

  afterAll(async () => {
    await farm.stop();
  });

  beforeEach(async () => {
    stage = new Stage();
    view = new ClusterView(cluster, stage);
    await view.configure('cluster-require-full-coverage', 'no');
  });

  afterEach(async () => {
    await expectAllKeysExpire(...(await view.masters()));
    await stage.end();
  });

  const app = (options = {}) => stage.app(cluster.nodes, options);

  async function keysElsewhere(node: ClusterNode): Promise<string[]> {
    const others = (await view.nodes()).filter(
      ({ slots, id }) => slots.length > 0 && id !== node.id,
    );
    return others.flatMap((other) => view.keysOn(other, 3));
  }

  async function otherThan(node: ClusterNode): Promise<ClusterNode> {
    return (await view.nodes()).find(({ slots, id }) => slots.length > 0 && id !== node.id)!;
  }

  it('whose new master knows no script decides by it at once', async () => {
    const old = await view.masterOf(SHARDS[0]);
    const [key] = view.keysOn(old, 1);
    const heir = await view.heirOf(old);
    const { limiter, lines } = await app(PATIENT);
    expect((await limiter.allow(key!, 'tight', 3)).reason).toBe('ALLOWED');
    await view.adminOf(heir).script('FLUSH');
    await view.adminOf(heir).cluster('FAILOVER');
    await view.untilReplaced(old);
    expect(await limiter.allow(key!, ['tight', 'roomy'])).toMatchObject({ reason: 'ALLOWED' });
    expect(lines).toEqual([]);
  });

  it('of which another node takes over as planned forgets nothing', async () => {
    const old = await view.masterOf(SHARDS[1]);
    const heir = await view.heirOf(old);
    const { limiter } = await app();
    const outcome = await playUnderLoad(limiter, {
      name: 'another master takes over as planned (CLUSTER FAILOVER)',
      strike: async () => {
        await view.adminOf(heir).cluster('FAILOVER');
        await view.untilReplaced(old);
      },
      lastsMs: 0,
      load: { name: 'planned' },
    });
    expectHarmless(outcome);
    // None, unless the two take longer than the deadline to agree.
    expect(outcome.load.count('FAIL_OPEN')).toBeLessThan(outcome.load.calls / 2);
    expect(await lostDecisions(limiter, outcome.load)).toBe(0);
    report(outcome.row);
  });

  it('of which a slot moves under load forgets nothing', async () => {
    const slot = slotOf('moving-0');
    const from = await view.masterOf(slot);
    const to = await otherThan(from);
    const { limiter } = await app(PATIENT);
    const outcome = await playUnderLoad(limiter, {
      name: 'a slot moves to another master',
      strike: async () => {
        await view.beginMove(slot, from, to);
        await pause(100);
        await until('the slot to be empty', async () => {
          const keys = await view.keysIn(slot, from);
          await view.moveKeys(keys, from, to);
          return keys.length === 0;
        });
        await pause(100);
        await view.endMove(slot, to);
      },
      load: { name: 'moving' },
    });
    expectAllDecided(outcome);
    expect(await lostDecisions(limiter, outcome.load)).toBe(0);
    report(outcome.row);
  });

  it('of which a master is killed shares the limits of the others all the time', async () => {
    const old = await view.masterOf(SHARDS[2]);
    const { limiter, lines } = await app();
    const bystanders = await new Bystanders(limiter, await keysElsewhere(old)).warmUp();
    const outcome = await playUnderLoad(limiter, {
      name: 'a master is killed',
      strike: () => view.kill(old),
      lastsMs: 0,
      heal: () => view.untilReplaced(old).then(() => bystanders.stop()),
    });
    await view.start(old);
    expectUntouched(bystanders, outcome.load);
    expectHarmless(outcome);
    expect(outcome.load.count('FAIL_OPEN')).toBeGreaterThan(100);
    await expectTold(lines, old);
    report(outcome.row);
  });

  it('of which a master hangs shares the limits of the others all the time', async () => {
    const old = await view.masterOf(SHARDS[0]);
    const { limiter, lines } = await app();
    const bystanders = await new Bystanders(limiter, await keysElsewhere(old)).warmUp();
    const outcome = await playUnderLoad(limiter, {
      name: 'a master hangs (SIGSTOP)',
      strike: () => Promise.resolve(view.halt(old)),
      lastsMs: 0,
      heal: () => view.untilReplaced(old).then(() => bystanders.stop()),
    });
    view.resume(old);
    expectUntouched(bystanders, outcome.load);
    expectHarmless(outcome);
    expect(outcome.load.count('FAIL_OPEN')).toBeGreaterThan(100);
    await expectTold(lines, old);
    report(outcome.row);
  });

  it('of which a part is lost shares what is left, if it may serve that alone', async () => {
    const lost = await view.masterOf(SHARDS[1]);
    const heir = await view.heirOf(lost);
    const [gone] = view.keysOn(lost, 1);
    const [left] = await keysElsewhere(lost);
    const { limiter } = await app();
    await untilShared(limiter, gone!);
    await Promise.all([view.kill(heir), view.kill(lost)]);
    await until('the loss to be noticed', async () => !(await isShared(limiter, gone!)));
    expect(await isShared(limiter, left!)).toBe(true);
    await view.configure('cluster-require-full-coverage', 'yes');
    await until('the others to stop', async () => !(await isShared(limiter, left!)));
    expect(await isShared(limiter, gone!)).toBe(false);
    await Promise.all([view.start(lost), view.start(heir)]);
    await view.untilWell();
    await Promise.all([untilShared(limiter, gone!), untilShared(limiter, left!)]);
  });
});

async function isShared(limiter: RateLimiter, key: string): Promise<boolean> {
  return (await limiter.allow(key, 'roomy')).reason === 'ALLOWED';
}

async function untilShared(limiter: RateLimiter, key: string): Promise<void> {
  await until('limits to be shared', () => isShared(limiter, key));
}

/** Nobody whose server is well pays for one that is not. */
function expectUntouched({ calls, failed, longestWaitMs }: Bystanders, { lagMs }: Load): void {
  expect(calls).toBeGreaterThan(100);
  // None, on a machine that has time for all of its servers.
  expect(failed).toBeLessThan(calls / 3);
  expect(longestWaitMs).toBeLessThan(DEADLINE_MS + 10 + 2 * lagMs);
}

/** One line when the limits of that server stop being shared, one when they are again. */
async function expectTold(lines: readonly string[], { port }: ClusterNode): Promise<void> {
  const about = () => lines.filter((line) => line.includes(`on 127.0.0.1:${port} are`));
  await until('the second line', () => about().length >= 2);
  expect(about()).toEqual([
    expect.stringContaining('are no longer shared'),
    expect.stringContaining('are shared again'),
  ]);
}
