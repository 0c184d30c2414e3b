import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import calculateSlot from 'cluster-key-slot';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import type { GatewayConfig } from '../../lib/gateway/config/gateway-config.js';
import { createGateway } from '../../lib/gateway/create-gateway.js';
import type { GatewayLimiter } from '../../lib/gateway/gateway-limiter.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { MonotonicClock } from '../../lib/memory/monotonic-clock.js';
import { createRedisStores } from '../../lib/redis/create-redis-stores.js';
import { describeWithServers } from '../support/describe-with-servers.js';
import { sharedRedis, until } from '../support/redis-servers.js';

// Processes and servers take their time on a busy machine.
jest.setTimeout(30_000);

const MAX = { server: 6, route: 5, backend: 5, client: 2 } as const;
/** So many that none of them is in the way. */
const MAX_QPS = 1_000_000;
const CLIENTS = Array.from({ length: 8 }, (_, i) => `192.0.2.${i}`);
const ROUTES = ['one', 'two'] as const;

const GATEWAY: GatewayConfig = {
  server: { rateLimit: { maxConnections: MAX.server, maxQps: MAX_QPS } },
  backends: [{ name: 'api', rateLimit: { maxConnections: MAX.backend, maxQps: MAX_QPS } }],
  routes: ROUTES.map((id) => ({
    ...{ id, host: `${id}.example.com`, backend: 'api' },
    rateLimit: {
      ...{ maxConnections: MAX.route, maxQps: MAX_QPS },
      ...{ maxConnectionsPerClient: MAX.client, maxQpsPerClient: MAX_QPS },
    },
  })),
};

interface StartedGateway {
  readonly limiter: GatewayLimiter;
  readonly end: () => Promise<void>;
}

const START_GATEWAY: string = './start-gateway.mjs';
const { startGateway } = (await import(START_GATEWAY)) as {
  startGateway: (parts: object, options: object) => Promise<StartedGateway>;
};
const PARTS = { createGateway, createRedisStores, MemoryStore, MonotonicClock };

type Place = Readonly<{ routeId: (typeof ROUTES)[number]; clientIp: string }>;

describeWithServers('cluster', 'gateways on a cluster', () => {
  const keyPrefix = `gateway-${randomUUID()}`;
  let started: StartedGateway[];
  let gateways: GatewayLimiter[];
  let nodes: Redis[];

  beforeAll(async () => {
    const options = { redis: sharedRedis.cluster, keyPrefix, deadlineMs: 5_000, gateway: GATEWAY };
    started = await Promise.all([startGateway(PARTS, options), startGateway(PARTS, options)]);
    gateways = started.map(({ limiter }) => limiter);
    nodes = sharedRedis.cluster.map(({ port }) => new Redis(port));
  });

  afterAll(async () => {
    await Promise.all(started.map(({ end }) => end()));
    for (const node of nodes) node.disconnect();
  });

  const place = (i: number): Place => ({
    routeId: ROUTES[i % ROUTES.length]!,
    clientIp: CLIENTS[i % CLIENTS.length]!,
  });

  /** How many connections are open, wherever they are counted. */
  async function connections(): Promise<(number | undefined)[]> {
    const [gateway] = gateways;
    const clients = CLIENTS.flatMap((client) => ROUTES.map((route) => [client, route] as const));
    const uses = await Promise.all([
      gateway!.current('server'),
      gateway!.current('backend', 'api'),
      ...ROUTES.map((route) => gateway!.current('route', route)),
      ...clients.map(([client, route]) => gateway!.current('client', client, route)),
    ]);
    return uses.map((one) => one.connections);
  }

  async function untilNothingIsHeld(): Promise<void> {
    await until('all to be given back', async () =>
      (await connections()).every((count) => (count ?? 0) === 0),
    );
  }

  /** The masters have each key once, their replicas again. */
  async function keys(): Promise<string[]> {
    const found = await Promise.all(nodes.map((node) => node.keys(`${keyPrefix}:*`)));
    return [...new Set(found.flat())];
  }

  it('count the levels of one request in different slots', async () => {
    const answer = await gateways[0]!.enter(place(0));
    expect(answer.limits.map(({ plan }) => plan)).toEqual([
      ...['server-qps', 'server-connections', 'route-qps', 'route-connections'],
      ...['backend-qps', 'backend-connections', 'client-qps', 'client-connections'],
    ]);
    const slots = new Set((await keys()).map((key) => calculateSlot(key)));
    expect(slots.size).toBe(8);
    await answer.release();
    await untilNothingIsHeld();
  });

  it('give everything back when a chain is refused, whichever level refuses it', async () => {
    const full = [];
    for (let i = 0; i < MAX.client; i++) full.push(await gateways[i % 2]!.enter(place(0)));
    const before = await connections();
    for (let i = 0; i < 20; i++) {
      expect((await gateways[i % 2]!.enter(place(0))).denial?.level).toBe('client');
    }
    expect(await connections()).toEqual(before);
    for (const i of [1, 3, 5]) full.push(await gateways[0]!.enter(place(i)));
    const filled = await connections();
    for (let i = 0; i < 20; i++) {
      expect((await gateways[i % 2]!.enter(place(7))).denial?.level).toBe('backend');
    }
    expect(await connections()).toEqual(filled);
    for (const answer of full) await answer.release();
    expect(full.every(({ allowed }) => allowed)).toBe(true);
    await untilNothingIsHeld();
  });

  it('charge no request that another level refused', async () => {
    // Narrower than the connections of the backend, and so asked before them.
    await gateways[0]!.updateRoute('two', { maxQpsPerClient: 4 });
    await until('the other to know', () => gateways[1]!.explain('two').values[6]!.value === 4);
    const full = [];
    for (const i of [0, 2, 4, 6, 0]) full.push(await gateways[0]!.enter(place(i)));
    const late: Place = { routeId: 'two', clientIp: '192.0.2.99' };
    for (let i = 0; i < 20; i++) {
      expect((await gateways[i % 2]!.enter(late)).denial?.level).toBe('backend');
    }
    expect((await gateways[0]!.current('client', late.clientIp, 'two')).qps).toBe(0);
    for (const answer of full) await answer.release();
    await untilNothingIsHeld();
    for (let i = 0; i < 4; i++) full.push(await gateways[i % 2]!.enter(late));
    expect(full.every(({ allowed }) => allowed)).toBe(true);
    for (const answer of full) await answer.release();
    await gateways[0]!.updateRoute('two', GATEWAY.routes![1]!.rateLimit!);
    await until(
      'the other to know',
      () => gateways[1]!.explain('two').values[6]!.value === MAX_QPS,
    );
    await untilNothingIsHeld();
  });

  it('never have more open than any level allows, whatever comes and goes', async () => {
    const crowd = new Crowd();
    const endMs = performance.now() + 1_500;
    const callers = Array.from({ length: 32 }, async (_, i) => {
      for (let turn = 0; performance.now() < endMs; turn++) {
        const to = place(i + turn);
        const answer = await gateways[i % 2]!.enter(to);
        if (!answer.allowed) continue;
        const leave = crowd.enter(to);
        await pause(Math.random() * 10);
        leave();
        await answer.release();
      }
    });
    await Promise.all(callers);
    // Chains that are undone take room for a moment, so that the last place may never be filled.
    expect(crowd.most.backend).toBeGreaterThanOrEqual(MAX.backend - 2);
    for (const level of ['server', 'route', 'backend', 'client'] as const) {
      expect([level, crowd.most[level] <= MAX[level]]).toEqual([level, true]);
    }
    await untilNothingIsHeld();
  });
});

/** Who is there, and the most that ever were. */
class Crowd {
  readonly #there = new Set<Place>();
  readonly most = { server: 0, route: 0, backend: 0, client: 0 };

  enter(place: Place): () => void {
    const one = { ...place };
    this.#there.add(one);
    const there = [...this.#there];
    const onRoute = there.filter(({ routeId }) => routeId === place.routeId);
    this.#note('server', there.length);
    this.#note('backend', there.length);
    this.#note('route', onRoute.length);
    this.#note('client', onRoute.filter(({ clientIp }) => clientIp === place.clientIp).length);
    return () => this.#there.delete(one);
  }

  #note(level: keyof typeof MAX, count: number): void {
    this.most[level] = Math.max(this.most[level], count);
  }
}
