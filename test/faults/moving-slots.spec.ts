import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import type { RateLimiter } from '../../lib/index.js';
import { connect, waitForReady } from '../../lib/redis/connect.js';
import { MovingSlotStore } from '../../lib/redis/moving-slot-store.js';
import { MovingSlots } from '../../lib/redis/moving-slots.js';
import { RedisConnection } from '../../lib/redis/redis-connection.js';
import { RedisKeys } from '../../lib/redis/redis-keys.js';
import { RedisStore } from '../../lib/redis/redis-store.js';
import { serversOf } from '../../lib/redis/servers-of.js';
import { describeWithServers } from '../support/describe-with-servers.js';
import { expectAllKeysExpire } from '../support/expect-all-keys-expire.js';
import { Load, LOAD_PLANS } from '../support/load.js';
import type { ClusterServers, Farm } from '../support/redis-servers.js';
import { createFarm, until } from '../support/redis-servers.js';
import { Bystanders } from './bystanders.js';
import { ChainLoad } from './chain-load.js';
import type { ClusterNode } from './cluster-view.js';
import { ClusterView, slotOf } from './cluster-view.js';
import { faultReport } from './fault-report.js';
import type { App } from './stage.js';
import { DEADLINE_MS, PATIENT, Stage } from './stage.js';

const report = faultReport('Cluster', 100);

const CHAIN = ['roomy', 'tight'];

describeWithServers('cluster', 'a cluster with a slot that', () => {
  let farm: Farm;
  let cluster: ClusterServers;
  let stage: Stage;
  let view: ClusterView;
  let key: string;
  let slot: number;
  let from: ClusterNode;
  let to: ClusterNode;
  /** Other keys of the node that the slot is on. */
  let neighbours: string[];
  let round = 0;

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
    from = await view.masterOf(0);
    to = (await view.nodes()).find(({ slots, id }) => slots.length > 0 && id !== from.id)!;
    [key = '', ...neighbours] = view
      .keysOn(from, 100)
      .slice(10 * round++)
      .slice(0, 10);
    slot = slotOf(key);
  });

  afterEach(async () => {
    await expectAllKeysExpire(...(await view.masters()));
    await stage.end();
  });

  /** Moves one of the two keys of the chain, and leaves it at that. */
  async function halfMove(): Promise<void> {
    await view.beginMove(slot, from, to);
    const [first] = await view.keysIn(slot, from);
    await view.moveKeys([first!], from, to);
  }

  async function finishMove(): Promise<void> {
    await view.moveKeys(await view.keysIn(slot, from), from, to);
    await view.endMove(slot, to);
  }

  async function loadFor(milliseconds: number, { limiter }: App) {
    const [chain, beside] = [new ChainLoad(limiter, key), new Load(limiter, { name: 'beside' })];
    const bystanders = new Bystanders(limiter, neighbours);
    const startMs = performance.now();
    await until('the time to pass', () => performance.now() - startMs > milliseconds);
    await Promise.all([chain.stop(), beside.stop(), bystanders.stop()]);
    return { chain, beside, bystanders };
  }

  it.each([
    ['has half moved', 1],
    ['is about to move', 0],
  ])('%s counts its keys exactly, and the others as before', async (what, before) => {
    const app = await stage.app(cluster.nodes, PATIENT);
    for (let i = 0; i < before; i++) await app.limiter.allow(key, CHAIN);
    if (before > 0) await halfMove();
    else await view.beginMove(slot, from, to);
    const { chain, beside, bystanders } = await loadFor(2_000, app);
    await finishMove();
    expect(chain.count('ALLOWED') + chain.count('LIMIT_EXCEEDED')).toBe(chain.calls);
    expect(chain).toMatchObject({ errors: [], overAdmission: 0 });
    expect(bystanders.failed + beside.count('FAIL_OPEN')).toBe(0);
    const { remainingTokens } = await app.limiter.peek(key, 'roomy');
    expect(LOAD_PLANS.roomy.capacity - remainingTokens).toBe(before + chain.count('ALLOWED'));
    expect(app.lines).toEqual([]);
    report({
      fault: `a slot ${what} and stays so for 2 s (TRYAGAIN)`,
      longestWaitMs: chain.longestWaitMs,
      errors: chain.errors.length,
      recoveryMs: null,
      overAdmission: chain.overAdmission,
    });
  });

  it('has half moved keeps its leases', async () => {
    const plans = { slots: { maxConcurrent: 2, leaseMs: 1_000 } };
    const { limiter } = await stage.app(cluster.nodes, { plans });
    const chain = ['slots', 'roomy'];
    const held = await limiter.acquire(key, chain);
    await halfMove();
    const another = await limiter.acquire(key, chain);
    expect([held.allowed, another.allowed]).toEqual([true, true]);
    // Longer than a lease: both have to be renewed meanwhile.
    await pause(1_500);
    expect((await limiter.acquire(key, chain)).allowed).toBe(false);
    await another.release();
    const last = await limiter.acquire(key, chain);
    expect(last.allowed).toBe(true);
    await Promise.all([held.release(), last.release()]);
    await finishMove();
  });

  it('has half moved keeps its gates', async () => {
    const servers = serversOf(connect(cluster.nodes));
    await waitForReady(servers.client, 5_000);
    // Nodes are connected to when they are first asked.
    await Promise.all(servers.masters().map((node) => node.ping()));
    const moving = new MovingSlots(() => performance.now());
    const redis = new RedisStore(servers, { moving });
    const places = new RedisConnection(servers, redis, new RedisKeys());
    const store = new MovingSlotStore(redis, places, moving);
    const gate = { key, probeUs: 1_000_000 };
    const bucket = {
      plan: definePlan('bucket', { capacity: 2, tokensPerSecond: 0.1 }),
      key,
      cost: 1,
    };
    const ask = () =>
      store.decide({ limits: [bucket], gate, mode: 'take', maxWaitUs: 0, leaseId: '' });
    const rules = { threshold: 2, cooldownUs: 60_000_000, retryAfterUs: 0, generation: undefined };
    const block = () => store.changeGate({ kind: 'block', gate, bucket, memoryUs: 1e8, ...rules });
    await block();
    expect(await ask()).toMatchObject({ allowed: true, gate: { blocks: 1 } });
    await halfMove();
    expect(await ask()).toMatchObject({ allowed: true, limits: [{ remaining: 0 }] });
    expect(await ask()).toMatchObject({ allowed: false, gate: { waitUs: 0 } });
    expect(await block()).toMatchObject({ blocks: 2, cooldownUs: 60_000_000 });
    const shut = await ask();
    expect(shut).toMatchObject({ allowed: false, limits: [{ remaining: 0 }] });
    expect(shut.waitUs).toBeGreaterThan(50_000_000);
    await finishMove();
    await store.close();
  });

  it('nobody serves is decided without Redis, and the others with it', async () => {
    const app = await stage.app(cluster.nodes, PATIENT);
    await app.limiter.allow(key, CHAIN);
    for (const master of await view.masters()) await master.cluster('DELSLOTS', slot);
    const { chain, beside, bystanders } = await loadFor(1_000, app);
    await view.adminOf(from).cluster('ADDSLOTS', slot);
    await view.untilWell();
    await until('the slot to be served', () => isShared(app.limiter, key));
    expect(chain.count('FAIL_OPEN')).toBeGreaterThan(chain.calls - 10);
    expect(chain).toMatchObject({ errors: [], overAdmission: 0 });
    expect(bystanders.failed + beside.count('FAIL_OPEN')).toBe(0);
    expect(app.lines).toEqual([
      expect.stringMatching(/^Limits on some slots are no longer shared: .*CLUSTERDOWN/),
      expect.stringMatching(/^Limits on some slots are shared again/),
    ]);
  });

  it('moves to a server that is not there harms no other', async () => {
    const app = await stage.app(cluster.nodes);
    await app.limiter.allow(key, CHAIN);
    await view.beginMove(slot, from, to);
    await view.moveKeys(await view.keysIn(slot, from), from, to);
    view.halt(to);
    const { chain, beside, bystanders } = await loadFor(600, app);
    view.resume(to);
    await finishMove();
    expect(chain.errors).toEqual([]);
    expect(chain.count('FAIL_OPEN')).toBeGreaterThan(0);
    expect(chain.longestWaitMs).toBeLessThan(DEADLINE_MS + 10 + 2 * beside.lagMs);
    // None, on a machine that has time for all of its servers.
    expect(bystanders.failed).toBeLessThan(bystanders.calls / 3);
    const about = app.lines.filter((line) => line.includes(`:${from.port}`));
    expect([about, app.lines[0]]).toEqual([[], expect.stringContaining(`slot ${slot}`)]);
  });
});

async function isShared(limiter: RateLimiter, key: string): Promise<boolean> {
  return (await limiter.allow(key, 'roomy')).reason === 'ALLOWED';
}
