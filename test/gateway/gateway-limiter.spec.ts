import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { checkGatewayConfig } from '../../lib/gateway/config/check-gateway-config.js';
import type { GatewayConfig, LevelLimits } from '../../lib/gateway/config/gateway-config.js';
import type { GatewayChange } from '../../lib/gateway/updates/gateway-events.js';
import { GatewayLimiter } from '../../lib/gateway/gateway-limiter.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { FakeClock } from '../support/fake-clock.js';

const CONFIG: GatewayConfig = {
  server: {
    rateLimit: { maxQps: 9, maxConnections: 8, maxQpsPerClient: 4, maxConnectionsPerClient: 3 },
  },
  backends: [
    { name: 'api', rateLimit: { maxQps: 7, maxConnections: 6 } },
    { name: 'off', rateLimit: { maxQps: 0 } },
  ],
  routes: [
    { host: 'api.example.com', backend: 'api', rateLimit: { maxQps: 5, maxConnections: 4 } },
    { id: 'free', host: 'free.example.com', backend: 'api' },
    { id: 'off', host: 'off.example.com', backend: 'off' },
  ],
};
const API = { routeId: 'api.example.com', clientIp: '192.0.2.1' };

describe('a gateway', () => {
  let clock: FakeClock;
  let store: MemoryStore;
  let gateway: GatewayLimiter;
  let changes: GatewayChange[];

  beforeEach(async () => {
    clock = new FakeClock(5_000_000);
    store = new MemoryStore(clock);
    gateway = await start();
    changes = [];
    gateway.events.on('change', (change) => changes.push(change));
  });

  async function start(): Promise<GatewayLimiter> {
    let leases = 0;
    const ties = { store, documents: store, newLeaseId: () => `${Math.random()}-${leases++}` };
    const one = new GatewayLimiter(checkGatewayConfig(CONFIG), ties);
    await one.start();
    return one;
  }

  const client = (n: number) => ({ ...API, clientIp: `192.0.2.${n}` });

  it('names the level that said no, and charges nothing then', async () => {
    for (let i = 0; i < 4; i++) expect((await gateway.tryAcquire(API)).allowed).toBe(true);
    const denied = await gateway.tryAcquire(API);
    expect(denied.denial).toMatchObject({ level: 'client', resource: 'qps' });
    expect(denied.limits.map(({ plan, remaining }) => [plan, remaining])).toEqual([
      ['server-qps', 5],
      ['route-qps', 1],
      ['backend-qps', 3],
      ['client-qps', 0],
    ]);
    expect((await gateway.tryAcquire(client(2))).allowed).toBe(true);
    expect((await gateway.tryAcquire(client(3))).denial).toMatchObject({ level: 'route' });
    const free = { routeId: 'free', clientIp: '192.0.2.9' };
    expect((await gateway.tryAcquire(free)).allowed).toBe(true);
    expect((await gateway.tryAcquire(free)).allowed).toBe(true);
    expect((await gateway.tryAcquire(free)).denial).toMatchObject({ level: 'backend' });
    const none = { clientIp: '192.0.2.10' };
    for (let i = 0; i < 2; i++) expect((await gateway.tryAcquire(none)).allowed).toBe(true);
    expect((await gateway.tryAcquire(none)).denial).toMatchObject({ level: 'server' });
    expect(await gateway.current('server')).toEqual({ qps: 9, connections: 0 });
    expect(await gateway.current('route', 'api.example.com')).toEqual({ qps: 5, connections: 0 });
    expect(await gateway.current('backend', 'api')).toEqual({ qps: 7, connections: 0 });
  });

  it('refuses all where a limit is 0, and limits nothing where there is none', async () => {
    const denied = await gateway.tryAcquire({ routeId: 'off', clientIp: '192.0.2.1' });
    expect(denied).toMatchObject({ allowed: false, retryAfterMs: null });
    expect(denied.denial).toMatchObject({ level: 'backend', resource: 'qps' });
    await gateway.updateServer(null);
    await gateway.updateBackend('api', null);
    const free = { routeId: 'free', clientIp: '192.0.2.9' };
    for (let i = 0; i < 100; i++) expect((await gateway.enter(free)).allowed).toBe(true);
    expect(await gateway.current('server')).toEqual({ qps: undefined, connections: undefined });
  });

  it('holds connections until they are released, once', async () => {
    const open = [];
    for (let i = 0; i < 3; i++) open.push(await gateway.tryAcquireConnection(API));
    expect((await gateway.tryAcquireConnection(API)).denial).toMatchObject({
      level: 'client',
      resource: 'connections',
    });
    await open[0]!.release();
    await open[0]!.release();
    expect(await gateway.current('client', '192.0.2.1', 'api.example.com')).toEqual({
      qps: 0,
      connections: 2,
    });
    expect((await gateway.tryAcquireConnection(API)).allowed).toBe(true);
  });

  it('explains where each value came from', async () => {
    await gateway.updateBackend('api', { maxQpsPerClient: 2 });
    expect(gateway.explain('free').values).toEqual([
      { level: 'server', limit: 'maxQps', value: 9, source: 'server' },
      { level: 'server', limit: 'maxConnections', value: 8, source: 'server' },
      { level: 'route', limit: 'maxQps', value: -1, source: 'none' },
      { level: 'route', limit: 'maxConnections', value: -1, source: 'none' },
      { level: 'backend', limit: 'maxQps', value: -1, source: 'none' },
      { level: 'backend', limit: 'maxConnections', value: -1, source: 'none' },
      { level: 'client', limit: 'maxQpsPerClient', value: 2, source: 'backend' },
      { level: 'client', limit: 'maxConnectionsPerClient', value: 3, source: 'server' },
    ]);
    expect(() => gateway.explain('nowhere')).toThrow(
      'There is no route "nowhere". Known routes: "api.example.com", "free", "off".',
    );
  });

  it('changes only what really changes, and tells it once', async () => {
    const same = CONFIG.server!.rateLimit!;
    expect(await gateway.updateServer({ ...same })).toBe(false);
    expect(await gateway.updateServer({ ...same, maxQps: 20 })).toBe(true);
    expect(await gateway.updateServer({ ...same, maxQps: 20 })).toBe(false);
    expect(await gateway.updateRoute('free', { maxQps: 1 })).toBe(true);
    expect(changes).toEqual([
      { level: 'server', id: '', difference: ['maxQps 9 → 20'], tooManyConnections: 0 },
      { level: 'route', id: 'free', difference: ['maxQps -1 → 1'], tooManyConnections: 0 },
    ]);
  });

  it('counts requests from zero under another limit of the server, and keeps connections', async () => {
    for (let i = 0; i < 3; i++) await gateway.enter(client(i));
    await gateway.updateServer({ ...CONFIG.server!.rateLimit, maxQps: 20, maxConnections: 2 });
    expect(await gateway.current('server')).toEqual({ qps: 0, connections: 3 });
    expect(changes[0]).toMatchObject({ tooManyConnections: 1 });
    expect((await gateway.enter(client(7))).denial).toMatchObject({
      level: 'server',
      resource: 'connections',
    });
  });

  it('refuses an update that cannot work, and changes nothing', async () => {
    await expect(gateway.updateServer({ maxQps: -2 })).rejects.toThrow(
      'server.maxQps must be a whole number from -1 (no limit) to 1000000000000, got -2.',
    );
    await expect(gateway.updateBackend('nobody', null)).rejects.toThrow(
      'There is no backend "nobody". Known backends: "api", "off".',
    );
    const forgotten = undefined as unknown as LevelLimits;
    const expected = 'must be an object, or null for no limits, got undefined.';
    await expect(gateway.updateServer(forgotten)).rejects.toThrow(`server ${expected}`);
    await expect(gateway.updateBackend('api', forgotten)).rejects.toThrow(
      `backends.api ${expected}`,
    );
    await expect(gateway.updateRoute('free', forgotten)).rejects.toThrow(`routes.free ${expected}`);
    expect(changes).toEqual([]);
  });

  it('has changed when a listener throws, and tells the others all the same', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    gateway.events.prependListener('change', ({ level }) => {
      if (level === 'server') throw new Error('a mistake of the listener');
    });
    const routes = [{ ...CONFIG.routes![0]!, rateLimit: { maxQps: 2 } }];
    const config = { ...CONFIG, server: { rateLimit: { maxQps: 1 } }, routes };
    await gateway.changeConfig(checkGatewayConfig(config));
    expect(await gateway.updateServer({ maxQps: 20 })).toBe(true);
    expect(changes).toMatchObject([{ level: 'route', id: 'api.example.com' }]);
    expect(warn).toHaveBeenCalledWith(
      'A listener of GatewayLimiter.events threw: Error: a mistake of the listener',
    );
    warn.mockRestore();
  });

  it.each(['', ' ', undefined, null, 42])('counts no client called %p', async (clientIp) => {
    const target = { clientIp: clientIp as string };
    await expect(gateway.enter(target)).rejects.toMatchObject({ code: 'INVALID_KEY' });
    await expect(gateway.tryAcquire(target)).rejects.toMatchObject({ code: 'INVALID_KEY' });
    await expect(gateway.current('client', target.clientIp ?? '')).rejects.toMatchObject({
      code: 'INVALID_KEY',
    });
    expect(await gateway.current('server')).toEqual({ qps: 0, connections: 0 });
  });

  it('counts routes and clients from zero when it is told to', async () => {
    for (let i = 0; i < 4; i++) await gateway.tryAcquire(API);
    await gateway.clearClientLimiters();
    expect((await gateway.tryAcquire(API)).allowed).toBe(true);
    expect((await gateway.tryAcquire(API)).denial).toMatchObject({ level: 'route' });
    await gateway.clearRouteLimiters();
    expect((await gateway.tryAcquire(API)).allowed).toBe(true);
  });

  it('tells other instances', async () => {
    const other = await start();
    await gateway.updateRoute('free', { maxQps: 1 });
    await new Promise((resolve) => setImmediate(resolve));
    expect(other.explain('free').values[2]).toMatchObject({ value: 1, source: 'route' });
    const later = await start();
    expect(later.explain('free').values[2]).toMatchObject({ value: 1, source: 'route' });
  });

  it('lets another configuration count before what was changed in the levels that it changes', async () => {
    await gateway.updateRoute('free', { maxQps: 1 });
    await gateway.updateBackend('api', { maxQps: 2 });
    await gateway.changeConfig(
      checkGatewayConfig({
        ...CONFIG,
        backends: [{ name: 'api', rateLimit: { maxQps: 70 } }, CONFIG.backends![1]!],
      }),
    );
    const values = gateway.explain('free').values.map(({ value }) => value);
    expect(values).toEqual([9, 8, 1, -1, 70, -1, 4, 3]);
  });
});
