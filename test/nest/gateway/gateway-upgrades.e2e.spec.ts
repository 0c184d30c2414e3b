import 'reflect-metadata';
import type { AddressInfo, Server, Socket } from 'node:net';
import { connect } from 'node:net';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { Decision, Inquiry } from '../../../lib/core/limit-store.js';
import { GatewayLimiter, RateLimitModule } from '../../../lib/index.js';
import type { LevelLimits, RateLimitOptions } from '../../../lib/index.js';
import { MemoryStore } from '../../../lib/memory/memory-store.js';
import { MonotonicClock } from '../../../lib/memory/monotonic-clock.js';
import type { StartOptions } from '../../support/http-app.js';
import { adapters, closeApps, startApp } from '../../support/http-app.js';
import { until } from '../../support/redis-servers.js';
import { StoreWithDocuments } from '../../support/store-with-documents.js';

// Processes and servers take their time on a busy machine.
jest.setTimeout(30_000);

const UPGRADE = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n';

/** Answers when it is told to. */
class HeldStore extends StoreWithDocuments {
  asked = 0;
  letGo!: () => void;
  readonly #told = new Promise<void>((resolve) => (this.letGo = resolve));

  constructor() {
    super(new MemoryStore(new MonotonicClock()));
  }

  override async decide(inquiry: Inquiry): Promise<Decision> {
    if (inquiry.mode === 'take') {
      this.asked++;
      await this.#told;
    }
    return this.store.decide(inquiry);
  }
}

afterEach(closeApps);

describe.each(adapters)('an upgrade on %s', (adapter) => {
  async function start(limits: LevelLimits, more: RateLimitOptions = {}, how?: StartOptions) {
    const gateway = { server: { rateLimit: limits } };
    const imports = [RateLimitModule.forRoot({ gateway, ...more })];
    const { app } = await startApp(adapter, { imports }, how);
    const server = app.getHttpServer() as Server;
    const limiter = app.get(GatewayLimiter);
    const [sockets, handled]: [Socket[], Socket[]] = [[], []];
    server.on('connection', (socket: Socket) => sockets.push(socket));
    // As most do it: it goes when its client does.
    server.on('upgrade', (_request: unknown, socket: Socket) => {
      handled.push(socket);
      socket.on('error', () => undefined).on('end', () => socket.end());
      socket.resume().write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
    });
    const { port } = server.address() as AddressInfo;
    return { server, limiter, sockets, handled, port };
  }

  const socketsOf = (server: Server) =>
    new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));

  function ask(port: number, more = ''): Socket {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => undefined).write(UPGRADE + more);
    return socket;
  }

  it.each(['end', 'destroy', 'resetAndDestroy'] as const)(
    'whose client leaves (%s) before it is admitted holds nothing',
    async (leave) => {
      const store = new HeldStore();
      const { server, limiter, sockets, port } = await start({ maxConnections: 3 }, { store });
      const socket = ask(port);
      await until('the store to be asked', () => store.asked === 1);
      socket[leave]();
      await until(
        'the server to hear it',
        () => sockets[0]!.readableEnded || sockets[0]!.destroyed,
      );
      store.letGo();
      await until('its place to be free', async () => {
        return (
          (await limiter.current('server')).connections === 0 && (await socketsOf(server)) === 0
        );
      });
      socket.destroy();
    },
  );

  /** What the server says to an upgrade, up to the end. */
  async function refusalOf(port: number, from?: string): Promise<string> {
    const forwarded = from === undefined ? '' : `X-Forwarded-For: ${from}\r\n`;
    const socket = connect({ port, host: '127.0.0.1' });
    socket.write(UPGRADE.replace(/\r\n$/, `${forwarded}\r\n`));
    let said = '';
    for await (const data of socket) said += String(data);
    return said;
  }

  it('that is refused tells which level said no, as a request is told', async () => {
    const { limiter, port } = await start({ maxConnections: 1, maxQps: 100 });
    await limiter.tryAcquireConnection({ clientIp: '192.0.2.1' });
    const [head, body] = (await refusalOf(port)).split('\r\n\r\n') as [string, string];
    expect(head).toMatch(/^HTTP\/1\.1 429 Too Many Requests\r\n/);
    expect(head).toContain('RateLimit-Policy: "server-qps";q=100;w=1, "server-connections";q=1');
    expect(head).toMatch(/\r\nRetry-After: \d+\r\n/);
    expect(head).toContain('Content-Type: application/json; charset=utf-8');
    expect(JSON.parse(body)).toMatchObject({ statusCode: 429, plans: ['server-connections'] });
  });

  it('that is refused tells it as a problem where problems are told', async () => {
    const { port } = await start({ maxConnections: 0 }, { problemDetails: true });
    const [head, body] = (await refusalOf(port)).split('\r\n\r\n') as [string, string];
    expect(head).toContain('Content-Type: application/problem+json');
    expect(JSON.parse(body)).toMatchObject({
      status: 429,
      'violated-policies': ['server-connections'],
    });
  });

  it.each([
    [true, ['198.51.100.1', '198.51.100.2']],
    [false, ['127.0.0.1']],
  ])('counts for the client that a proxy tells if it is trusted (%s)', async (trustProxy, all) => {
    const limits = { maxConnectionsPerClient: 1 };
    const { limiter, handled, port } = await start(limits, {}, { trustProxy });
    for (const from of ['198.51.100.1', '198.51.100.2']) {
      const forwarded = `X-Forwarded-For: ${from}\r\n\r\n`;
      connect({ port, host: '127.0.0.1' })
        .on('error', () => undefined)
        .write(UPGRADE.replace(/\r\n$/, forwarded));
    }
    await until('all to be admitted', () => handled.length === all.length);
    for (const client of all) {
      expect(await limiter.current('client', client)).toMatchObject({ connections: 1 });
    }
    expect(await refusalOf(port, '198.51.100.1')).toContain('"plans":["client-connections"]');
  });

  it('that is refused is over, whether its client hangs up or not', async () => {
    const { server, handled, port } = await start({ maxConnections: 0 });
    const socket = ask(port, 'more than was asked for');
    const said = await new Promise<string>((resolve) =>
      socket.once('data', (data) => resolve(String(data))),
    );
    expect(said).toMatch(/^HTTP\/1\.1 429 Too Many Requests\r\n/);
    await until('the server to let go', async () => (await socketsOf(server)) === 0);
    expect(handled).toEqual([]);
    socket.destroy();
  });

  it('that is refused does no harm when its client resets the connection', async () => {
    const { server, port } = await start({ maxConnections: 0 });
    for (let i = 0; i < 50; i++) {
      const socket = ask(port, 'more');
      await new Promise((resolve) => socket.once('data', resolve));
      socket.resetAndDestroy();
    }
    await until('the server to let go', async () => (await socketsOf(server)) === 0);
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(429);
  });
});
