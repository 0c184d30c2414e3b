import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type {
  DocumentListener,
  DocumentStore,
  ReplacedDocument,
  StoredDocument,
} from '../../../lib/core/document-store.js';
import { checkGatewayConfig } from '../../../lib/gateway/config/check-gateway-config.js';
import type { GatewayConfig, LevelLimits } from '../../../lib/gateway/config/gateway-config.js';
import { GatewayLimiter } from '../../../lib/gateway/gateway-limiter.js';
import { MemoryStore } from '../../../lib/memory/memory-store.js';
import { FakeClock } from '../../support/fake-clock.js';

/** A store of one document that can be out of reach, and can forget. */
class Board implements DocumentStore {
  isAway = false;
  #document: StoredDocument = { version: 0, text: '' };
  readonly #listeners = new Set<DocumentListener>();

  forget(): void {
    this.#document = { version: 0, text: '' };
  }

  write(text: string): void {
    this.#document = { version: this.#document.version + 1, text };
  }

  async tell(): Promise<void> {
    for (const listener of this.#listeners) listener();
    await new Promise((resolve) => setImmediate(resolve));
  }

  readDocument(): StoredDocument {
    if (this.isAway) throw new Error('Redis does not answer.');
    return this.#document;
  }

  replaceDocument(_name: string, version: number, text: string): ReplacedDocument {
    if (this.isAway) throw new Error('Redis does not answer.');
    if (version !== this.#document.version) return { ...this.#document, replaced: false };
    this.#document = { version: version + 1, text };
    return { ...this.#document, replaced: true };
  }

  watchDocument(_name: string, listener: DocumentListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

describe('the settings of a gateway', () => {
  let board: Board;
  let store: MemoryStore;
  let gateways: GatewayLimiter[];

  beforeEach(() => {
    board = new Board();
    store = new MemoryStore(new FakeClock(1));
    gateways = [];
  });

  afterEach(() => {
    for (const gateway of gateways) gateway.stop();
  });

  const config = (rateLimit: LevelLimits = {}): GatewayConfig => ({
    server: { rateLimit },
    backends: [{ name: 'api' }],
    routes: [{ id: 'r', host: '*', backend: 'api' }],
  });

  async function start(limits?: LevelLimits): Promise<GatewayLimiter> {
    const ties = { store, documents: board, newLeaseId: () => 'id' };
    const gateway = new GatewayLimiter(checkGatewayConfig(config(limits)), ties);
    gateways.push(gateway);
    await gateway.start();
    return gateway;
  }

  const valuesOf = (gateway: GatewayLimiter) =>
    gateway.explain('r').values.map(({ value }) => value);

  it('are changed for everybody, in the order of the changes', async () => {
    const [one, other] = [await start(), await start()];
    await Promise.all([
      one.updateServer({ maxQps: 1 }),
      one.updateRoute('r', { maxQps: 2 }),
      one.updateServer({ maxQps: 3 }),
    ]);
    await board.tell();
    expect(valuesOf(one)).toEqual([3, -1, 2, -1, -1, -1, -1, -1]);
    expect(valuesOf(other)).toEqual(valuesOf(one));
  });

  it('stay as they are when the store is away, and the caller hears why', async () => {
    const gateway = await start({ maxQps: 5 });
    board.isAway = true;
    await expect(gateway.updateServer({ maxQps: 1 })).rejects.toMatchObject({
      code: 'GATEWAY_UNAVAILABLE',
      message:
        'The limits of the gateway stay as they are, for they could not be changed: ' +
        'Redis does not answer.',
    });
    expect(valuesOf(gateway)[0]).toBe(5);
    board.isAway = false;
    expect(await gateway.updateServer({ maxQps: 1 })).toBe(true);
    expect(valuesOf(gateway)[0]).toBe(1);
  });

  it('follow a file that changes while the store is away, and tell it later', async () => {
    const [one, other] = [await start({ maxQps: 5 }), await start({ maxQps: 5 })];
    await one.updateServer({ maxQps: 9 });
    await one.updateRoute('r', { maxQps: 8 });
    await board.tell();
    board.isAway = true;
    await one.changeConfig(checkGatewayConfig(config({ maxQps: 6 })));
    expect(valuesOf(one).slice(0, 3)).toEqual([6, -1, 8]);
    expect(valuesOf(other).slice(0, 3)).toEqual([9, -1, 8]);
    board.isAway = false;
    await board.tell();
    await board.tell();
    expect(valuesOf(one).slice(0, 3)).toEqual([6, -1, 8]);
    expect(valuesOf(other).slice(0, 3)).toEqual([5, -1, 8]);
  });

  describe('begin to count the requests of the server at zero', () => {
    const ask = async (gateway: GatewayLimiter, times: number) => {
      for (let i = 0; i < times; i++) await gateway.tryAcquire({ clientIp: '192.0.2.1' });
    };
    const used = async (gateway: GatewayLimiter) => (await gateway.current('server')).qps;
    const change = (gateway: GatewayLimiter, limits: LevelLimits) =>
      gateway.changeConfig(checkGatewayConfig(config(limits)));

    it.each([
      ['an update', (gateway: GatewayLimiter) => gateway.updateServer({ maxQps: 7 })],
      ['a file', (gateway: GatewayLimiter) => change(gateway, { maxQps: 7 })],
    ])('when %s changes maxQps, and not when it changes something else', async (_, by) => {
      const gateway = await start({ maxQps: 5 });
      await ask(gateway, 3);
      await change(gateway, { maxQps: 5, maxQpsPerClient: 50 });
      expect(await used(gateway)).toBe(3);
      await by(gateway);
      expect(await used(gateway)).toBe(0);
      await ask(gateway, 9);
      expect(await used(gateway)).toBe(7);
    });

    it('once, however many processes take over the same file', async () => {
      const [one, other, third] = [
        await start({ maxQps: 5 }),
        await start({ maxQps: 5 }),
        await start({ maxQps: 5 }),
      ];
      await ask(other, 4);
      await change(one, { maxQps: 7 });
      await board.tell();
      await ask(one, 2);
      await change(other, { maxQps: 7 });
      await change(third, { maxQps: 7 });
      await board.tell();
      for (const gateway of [one, other, third]) expect(await used(gateway)).toBe(2);
      await change(one, { maxQps: 5 });
      expect(await used(one)).toBe(0);
    });

    it('when what an update set goes away, by a file or by being reverted', async () => {
      const gateway = await start({ maxQps: 5 });
      await gateway.updateServer({ maxQps: 9 });
      await ask(gateway, 3);
      await change(gateway, { maxQps: 6 });
      expect(await used(gateway)).toBe(0);
      await gateway.updateServer({ maxQps: 9 });
      await ask(gateway, 3);
      await gateway.revertUpdates();
      expect(await used(gateway)).toBe(0);
    });

    it('while the store is away, and are told later', async () => {
      const [one, other] = [await start({ maxQps: 5 }), await start({ maxQps: 5 })];
      board.isAway = true;
      await change(one, { maxQps: 7 });
      await ask(one, 2);
      board.isAway = false;
      await board.tell();
      await board.tell();
      await change(other, { maxQps: 7 });
      expect([await used(one), await used(other)]).toEqual([2, 2]);
    });
  });

  it('outlive those who changed them, and are reverted for everybody', async () => {
    const one = await start({ maxQps: 5 });
    await one.updateServer({ maxQps: 9 });
    await one.updateBackend('api', { maxQps: 8 });
    await one.updateRoute('r', { maxQps: 7 });
    one.stop();
    const later = await start({ maxQps: 5 });
    expect(valuesOf(later).slice(0, 5)).toEqual([9, -1, 7, -1, 8]);
    const third = await start({ maxQps: 6 });
    expect(await later.revertUpdates()).toBe(true);
    await board.tell();
    expect(valuesOf(later).slice(0, 5)).toEqual([5, -1, -1, -1, -1]);
    expect(valuesOf(third).slice(0, 5)).toEqual([6, -1, -1, -1, -1]);
    expect(await third.revertUpdates()).toBe(false);
  });

  it('are written down again when the store has forgotten them', async () => {
    const one = await start();
    await one.updateServer({ maxQps: 4 });
    board.forget();
    await board.tell();
    const later = await start();
    expect(valuesOf(later)[0]).toBe(4);
    await later.updateServer({ maxQps: 3 });
    await board.tell();
    expect(valuesOf(one)[0]).toBe(3);
  });

  it('are heard of under a number that was there before the store had forgotten it', async () => {
    const [one, other] = [await start(), await start()];
    await one.updateServer({ maxQps: 4 });
    await board.tell();
    board.forget();
    await one.updateServer({ maxQps: 3 });
    await board.tell();
    expect(valuesOf(other)[0]).toBe(3);
  });

  it.each(['{', 'null', '5', '{"server":{"maxQps":-7}}', '{"backends":null}'])(
    'are those of the configuration when somebody wrote %s',
    async (text) => {
      const gateway = await start({ maxQps: 5 });
      board.write(text);
      await board.tell();
      expect(valuesOf(gateway)[0]).toBe(5);
      expect(await gateway.updateServer({ maxQps: 6 })).toBe(true);
    },
  );

  it('name backends and routes as objects name what they inherit', async () => {
    const ties = { store, documents: board, newLeaseId: () => 'id' };
    const names = ['constructor', '__proto__', 'toString'];
    const checked = checkGatewayConfig({
      backends: names.map((name) => ({ name })),
      routes: names.map((id) => ({ id, host: `${names.indexOf(id)}.com`, backend: id })),
    });
    const gateway = new GatewayLimiter(checked, ties);
    for (const name of names) {
      expect(await gateway.updateBackend(name, { maxQps: 1 })).toBe(true);
      expect(await gateway.updateBackend(name, { maxQps: 1 })).toBe(false);
      expect(await gateway.updateRoute(name, { maxQps: 2 })).toBe(true);
      expect(gateway.explain(name).values[2]).toMatchObject({ value: 2, source: 'route' });
      expect(gateway.explain(name).values[4]).toMatchObject({ value: 1, source: 'backend' });
    }
  });
});
