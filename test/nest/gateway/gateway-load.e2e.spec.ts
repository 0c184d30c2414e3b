import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Controller, Get, Req, Res, Sse, StreamableFile } from '@nestjs/common';
import { interval, map } from 'rxjs';
import type { Decision, Inquiry, Return } from '../../../lib/core/limit-store.js';
import { GatewayLimiter, RateLimitModule } from '../../../lib/index.js';
import type { GatewayConfig, RateLimitOptions } from '../../../lib/index.js';
import { MemoryStore } from '../../../lib/memory/memory-store.js';
import { MonotonicClock } from '../../../lib/memory/monotonic-clock.js';
import type { HttpApp } from '../../support/http-app.js';
import { adapters, closeApps, startApp } from '../../support/http-app.js';
import { sharedRedis, until } from '../../support/redis-servers.js';
import { StoreWithDocuments } from '../../support/store-with-documents.js';
import { chanceFrom, RudeClient } from '../../support/rude-clients.js';

// Processes and servers take their time on a busy machine.
jest.setTimeout(30_000);

const MAX = { server: 14, backend: 12, route: 8, client: 3 } as const;
const ADDRESSES = Array.from({ length: 8 }, (_, i) => `127.0.0.${i + 1}`);
const CLIENTS = 24;
const VISITS = 12;

const CONFIG: GatewayConfig = {
  server: { rateLimit: { maxConnections: MAX.server, maxConnectionsPerClient: MAX.client } },
  backends: [{ name: 'api', rateLimit: { maxConnections: MAX.backend } }],
  routes: [
    { id: 'short', host: '*', path: '/', backend: 'api', rateLimit: { maxConnections: MAX.route } },
    { id: 'long', host: '*', path: '/long', backend: 'api' },
  ],
};
const PATHS = {
  short: ['/quick', '/slow', '/fail'],
  long: ['/long/pieces', '/long/events', '/long/never'],
  upgrade: '/long/upgrade',
};

/** What is really open in the server: counted from when it is handled until it is over. */
class OpenExchanges {
  readonly #open = new Set<{ address: string; isShort: boolean }>();
  readonly most = { server: 0, backend: 0, route: 0, client: 0 };
  handled = 0;

  begin(request: IncomingMessage, response?: ServerResponse): void {
    const { socket } = request;
    const one = { address: socket.remoteAddress!, isShort: !request.url!.startsWith('/long') };
    this.handled++;
    // Its client was gone before it could be handled.
    if (socket.destroyed) return;
    this.#open.add(one);
    const end = () => this.#open.delete(one);
    socket.once('close', end);
    response?.once('finish', end).once('close', end);
    this.#measure(one.address);
  }

  #measure(address: string): void {
    const open = [...this.#open];
    const now = {
      server: open.length,
      backend: open.length,
      route: open.filter(({ isShort }) => isShort).length,
      client: open.filter((one) => one.address === address).length,
    };
    for (const level of ['server', 'backend', 'route', 'client'] as const) {
      this.most[level] = Math.max(this.most[level], now[level]);
    }
  }
}

type FrameworkResponse = ServerResponse & { readonly raw?: ServerResponse };
type FrameworkRequest = IncomingMessage & { readonly raw?: IncomingMessage };

let exchanges: OpenExchanges;

function begin(request: FrameworkRequest, response: FrameworkResponse): void {
  exchanges.begin(request.raw ?? request, response.raw ?? response);
}

@Controller()
class ServiceController {
  @Get('quick')
  quick(@Req() request: FrameworkRequest, @Res({ passthrough: true }) response: FrameworkResponse) {
    begin(request, response);
    return 'quick';
  }

  @Get('slow')
  async slow(
    @Req() request: FrameworkRequest,
    @Res({ passthrough: true }) response: FrameworkResponse,
  ) {
    begin(request, response);
    await pause(15);
    return 'slow';
  }

  @Get('fail')
  async fail(
    @Req() request: FrameworkRequest,
    @Res({ passthrough: true }) response: FrameworkResponse,
  ) {
    begin(request, response);
    await pause(3);
    throw new Error('as planned');
  }

  @Get('long/pieces')
  pieces(
    @Req() request: FrameworkRequest,
    @Res({ passthrough: true }) response: FrameworkResponse,
  ) {
    begin(request, response);
    return new StreamableFile(Readable.from(slowly()));
  }

  @Get('long/never')
  never(@Req() request: FrameworkRequest, @Res({ passthrough: true }) response: FrameworkResponse) {
    begin(request, response);
    return new Promise(() => undefined);
  }

  @Sse('long/events')
  events(
    @Req() request: FrameworkRequest,
    @Res({ passthrough: true }) response: FrameworkResponse,
  ) {
    begin(request, response);
    return interval(5).pipe(map((data) => ({ data })));
  }
}

async function* slowly() {
  for (let piece = 0; piece < 5; piece++) {
    yield Buffer.alloc(1_000, 'x');
    await pause(4);
  }
}

/** Takes its time, so that clients are gone before it answers. */
class SlowStore extends StoreWithDocuments {
  readonly #chance = chanceFrom(5);

  constructor() {
    super(new MemoryStore(new MonotonicClock()));
  }

  override async decide(inquiry: Inquiry): Promise<Decision> {
    await pause(this.#chance() * 10);
    const decision = await this.store.decide(inquiry);
    await pause(this.#chance() * 10);
    return decision;
  }

  override async giveBack(returned: Return): Promise<boolean> {
    await pause(this.#chance() * 10);
    return this.store.giveBack(returned);
  }
}

const STORES: readonly (readonly [name: string, options: () => RateLimitOptions])[] = [
  ['in memory', () => ({})],
  ['on a slow store', () => ({ store: new SlowStore() })],
  [
    'on Redis',
    () => ({ redis: sharedRedis.url, keyPrefix: `load-${randomUUID()}`, deadlineMs: 10_000 }),
  ],
];

const CASES = adapters.flatMap((adapter) =>
  STORES.map(([name, options]) => ({ adapter, name, options })),
);

afterEach(closeApps);

describe.each(CASES)('a gateway on $adapter, $name, under clients that leave', (one) => {
  async function start(): Promise<HttpApp> {
    exchanges = new OpenExchanges();
    const http = await startApp(one.adapter, {
      imports: [RateLimitModule.forRoot({ ...one.options(), gateway: CONFIG })],
      controllers: [ServiceController],
    });
    (http.app.getHttpServer() as Server).on(
      'upgrade',
      (request: IncomingMessage, socket: Socket) => {
        exchanges.begin(request);
        socket
          .on('error', () => undefined)
          .on('end', () => socket.end())
          .resume();
        socket.write(
          'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
        );
      },
    );
    return http;
  }

  async function visitAll(http: HttpApp): Promise<Map<number, number>> {
    const { port } = (http.app.getHttpServer() as { address(): AddressInfo }).address();
    const clients = Array.from({ length: CLIENTS }, (_, i) => {
      const from = ADDRESSES[i % ADDRESSES.length]!;
      return new RudeClient(port, from, PATHS, chanceFrom(i));
    });
    await Promise.all(clients.map((client) => client.visit(VISITS)));
    const statuses = clients.flatMap((client) => [...client.statuses]);
    const total = new Map<number, number>();
    for (const [status, times] of statuses) total.set(status, (total.get(status) ?? 0) + times);
    return total;
  }

  /** What is held, at every level. */
  async function held(gateway: GatewayLimiter): Promise<number[]> {
    const clients = ADDRESSES.map((address) => gateway.current('client', address, 'long'));
    const levels = [
      gateway.current('server'),
      gateway.current('route', 'short'),
      gateway.current('backend', 'api'),
    ];
    const uses = await Promise.all([...levels, ...clients]);
    return uses.map(({ connections }) => connections!);
  }

  it('never has more open than it may, and holds nothing a second after the last', async () => {
    const http = await start();
    const gateway = http.app.get(GatewayLimiter);
    const statuses = await visitAll(http);
    const overMs = performance.now();
    await until('all to be given back', async () => Math.max(...(await held(gateway))) === 0);
    expect(performance.now() - overMs).toBeLessThan(1_000);
    // All kinds of answers came, and some clients did not wait for any.
    expect([...statuses.keys()].sort()).toEqual([0, 101, 200, 429, 500]);
    expect(exchanges.handled).toBeGreaterThan(CLIENTS);
    const { most } = exchanges;
    for (const level of ['server', 'backend', 'route', 'client'] as const) {
      expect([level, most[level] <= MAX[level]]).toEqual([level, true]);
    }
    expect(most.client).toBe(MAX.client);
  });
});
