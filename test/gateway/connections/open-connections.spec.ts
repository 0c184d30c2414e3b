import { describe, expect, it } from '@jest/globals';
import type { Awaitable } from '../../../lib/core/awaitable.js';
import type { Decision, Inquiry } from '../../../lib/core/limit-store.js';
import { StoreAround } from '../../../lib/core/store-around.js';
import { checkGatewayConfig } from '../../../lib/gateway/config/check-gateway-config.js';
import type { GatewayConfig } from '../../../lib/gateway/config/gateway-config.js';
import { GatewayLimiter } from '../../../lib/gateway/gateway-limiter.js';
import { DocumentBoard } from '../../../lib/memory/document-board.js';
import { MemoryStore } from '../../../lib/memory/memory-store.js';
import { FakeClock } from '../../support/fake-clock.js';
import { until } from '../../support/redis-servers.js';

const CONFIG: GatewayConfig = {
  backends: [{ name: 'api' }],
  routes: [
    { id: 'one', host: 'one.example.com', backend: 'api' },
    { id: 'two', host: 'two.example.com', backend: 'api' },
  ],
};
const VISIT = { routeId: 'one', clientIp: '192.0.2.1' };

/** Keeps whoever asks waiting while it is slow, as a store far away does. */
class SlowStore extends StoreAround {
  isSlow = false;
  readonly #waiting: (() => void)[] = [];

  get asked(): number {
    return this.#waiting.length;
  }

  override decide(inquiry: Inquiry): Awaitable<Decision> {
    if (!this.isSlow) return this.store.decide(inquiry);
    return new Promise((resolve) => {
      this.#waiting.push(() => resolve(this.store.decide(inquiry)));
    });
  }

  answer(): void {
    this.isSlow = false;
    for (const go of this.#waiting.splice(0)) go();
  }
}

function gatewayOn(store: StoreAround | MemoryStore, config = CONFIG): GatewayLimiter {
  let ids = 0;
  return new GatewayLimiter(checkGatewayConfig(config), {
    ...{ store, documents: new DocumentBoard() },
    newLeaseId: () => `id-${ids++}`,
  });
}

const memory = () => new MemoryStore(new FakeClock(5_000_000));
const SERVER_FULL = { level: 'server', resource: 'connections' };

describe('connections that are open', () => {
  it('count under a limit that was none when they were opened', async () => {
    const gateway = gatewayOn(memory());
    const open = [];
    for (let i = 0; i < 3; i++) open.push(await gateway.enter(VISIT));
    const changes: number[] = [];
    gateway.events.on('change', ({ tooManyConnections }) => changes.push(tooManyConnections));

    await gateway.updateServer({ maxConnections: 2 });

    expect(changes).toEqual([1]);
    expect(await gateway.current('server')).toEqual({ qps: undefined, connections: 3 });
    expect((await gateway.enter(VISIT)).denial).toEqual(SERVER_FULL);
    await open[0]!.release();
    expect((await gateway.enter(VISIT)).denial).toEqual(SERVER_FULL);
    await open[1]!.release();
    expect((await gateway.enter(VISIT)).allowed).toBe(true);
  });

  it('count where the limit of clients comes from now', async () => {
    const gateway = gatewayOn(memory());
    await gateway.updateRoute('one', { maxConnectionsPerClient: 5 });
    await gateway.enter(VISIT);
    await gateway.enter(VISIT);

    await gateway.updateServer({ maxConnectionsPerClient: 3 });
    await gateway.updateRoute('one', null);

    expect(await gateway.current('client', VISIT.clientIp, 'two')).toMatchObject({
      connections: 2,
    });
    const elsewhere = { ...VISIT, routeId: 'two' };
    expect((await gateway.enter(elsewhere)).allowed).toBe(true);
    expect((await gateway.enter(elsewhere)).denial).toEqual({ ...SERVER_FULL, level: 'client' });
  });

  it('stay counted when requests are counted from zero', async () => {
    const gateway = gatewayOn(memory());
    await gateway.updateServer({ maxQps: 9, maxConnectionsPerClient: 1 });
    await gateway.updateRoute('one', { maxQps: 9, maxConnections: 1 });
    await gateway.enter(VISIT);
    await gateway.clearRouteLimiters();
    await gateway.clearClientLimiters();
    await gateway.updateServer({ maxQps: 8, maxConnectionsPerClient: 1 });
    expect(await gateway.current('route', 'one')).toEqual({ qps: 0, connections: 1 });
    expect(await gateway.current('server')).toEqual({ qps: 0, connections: undefined });
    expect((await gateway.enter(VISIT)).denial).toEqual({ ...SERVER_FULL, level: 'route' });
  });

  it('are released everywhere, once, whatever counts them by then', async () => {
    const gateway = gatewayOn(memory());
    const answer = await gateway.enter(VISIT);
    await gateway.updateServer({ maxConnections: 5, maxConnectionsPerClient: 5 });
    await gateway.updateBackend('api', { maxConnections: 5 });
    await answer.release();
    await answer.release();
    await gateway.updateRoute('one', { maxConnections: 5 });
    expect(await gateway.current('server')).toMatchObject({ connections: 0 });
    expect(await gateway.current('backend', 'api')).toMatchObject({ connections: 0 });
    expect(await gateway.current('route', 'one')).toMatchObject({ connections: 0 });
    expect(await gateway.current('client', VISIT.clientIp)).toMatchObject({ connections: 0 });
  });

  it('are given back when they end while they are being counted', async () => {
    const store = new SlowStore(memory());
    const gateway = gatewayOn(store);
    const answer = await gateway.enter(VISIT);
    store.isSlow = true;
    const updating = gateway.updateServer({ maxConnections: 5 });
    await until('the connection to be counted', () => store.asked === 1);
    await answer.release();
    store.answer();
    await updating;
    expect(await gateway.current('server')).toMatchObject({ connections: 0 });
  });

  it('count under limits that came while the store was asked', async () => {
    const store = new SlowStore(memory());
    const gateway = gatewayOn(store, { ...CONFIG, server: { rateLimit: { maxQps: 100 } } });
    store.isSlow = true;
    const entering = gateway.enter(VISIT);
    store.isSlow = false;
    await gateway.updateBackend('api', { maxConnections: 1 });
    store.answer();
    expect((await entering).allowed).toBe(true);
    expect((await gateway.enter(VISIT)).denial).toEqual({ ...SERVER_FULL, level: 'backend' });
  });
});

describe('connections that the store has forgotten', () => {
  it('are counted again while they are open', async () => {
    const gateway = gatewayOn(memory(), {
      ...CONFIG,
      server: { rateLimit: { maxConnections: 2 } },
    });
    const open = [await gateway.enter(VISIT), await gateway.enter(VISIT)];
    for (const answer of open) await answer.slots?.lose();
    expect(await gateway.current('server')).toMatchObject({ connections: 2 });
    expect((await gateway.enter(VISIT)).denial).toEqual(SERVER_FULL);
    for (const answer of open) await answer.release();
    await open[0]!.slots?.lose();
    expect(await gateway.current('server')).toMatchObject({ connections: 0 });
  });
});

describe('a gateway that is asked for what it does not know', () => {
  it.each([
    [{ routeId: 'three', clientIp: 'a' }, 'There is no route "three". Known routes: "one", "two".'],
    [{ backend: 'app', clientIp: 'a' }, 'There is no backend "app". Known backends: "api".'],
  ])('says so: %j', async (target, message) => {
    const gateway = gatewayOn(memory());
    await expect(gateway.enter(target)).rejects.toThrow(message);
    await expect(gateway.tryAcquire(target)).rejects.toThrow(message);
    await expect(gateway.tryAcquireConnection(target)).rejects.toThrow(message);
  });
});
