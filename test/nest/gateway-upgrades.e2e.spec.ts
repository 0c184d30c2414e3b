import 'reflect-metadata';
import type { AddressInfo, Server, Socket } from 'node:net';
import { connect } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Decision, Inquiry } from '../../lib/core/limit-store.js';
import { StoreAround } from '../../lib/core/store-around.js';
import { GatewayLimiter, RateLimitModule } from '../../lib/index.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { MonotonicClock } from '../../lib/memory/monotonic-clock.js';
import { adapters, closeApps, startApp } from '../support/http-app.js';
import { until } from '../support/redis-servers.js';

const UPGRADE = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n';

/** Answers when it is told to. */
class HeldStore extends StoreAround {
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
  async function start(maxConnections: number, store?: StoreAround) {
    const gateway = { server: { rateLimit: { maxConnections } } };
    const options = store ? { gateway, store } : { gateway };
    const { app } = await startApp(adapter, { imports: [RateLimitModule.forRoot(options)] });
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
      const { server, limiter, sockets, port } = await start(3, store);
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

  it('that is refused is over, whether its client hangs up or not', async () => {
    const { server, handled, port } = await start(0);
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
    const { server, port } = await start(0);
    for (let i = 0; i < 50; i++) {
      const socket = ask(port, 'more');
      await new Promise((resolve) => socket.once('data', resolve));
      socket.resetAndDestroy();
    }
    await until('the server to let go', async () => (await socketsOf(server)) === 0);
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(429);
  });
});
