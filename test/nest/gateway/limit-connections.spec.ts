import { once } from 'node:events';
import type { RequestListener, RequestOptions } from 'node:http';
import { createServer as createHttpServer, request as httpRequest } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import {
  connect as connectHttp2,
  createSecureServer as createSecureHttp2,
  createServer as createHttp2,
} from 'node:http2';
import {
  createServer as createHttpsServer,
  request as httpsRequest,
  Server as HttpsServer,
} from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { limitConnections } from '../../../lib/index.js';
import { checkGatewayConfig } from '../../../lib/gateway/config/check-gateway-config.js';
import { GatewayLimiter } from '../../../lib/gateway/gateway-limiter.js';
import { MemoryStore } from '../../../lib/memory/memory-store.js';
import { FakeClock } from '../../support/fake-clock.js';
import { selfSignedCertificate } from '../../outbound/self-signed-certificate.js';
import { until } from '../../support/redis-servers.js';

describe('the connections of a server', () => {
  let gateway: GatewayLimiter;
  let server: Server;
  let sockets: Socket[];

  beforeEach(() => {
    let ids = 0;
    const config = checkGatewayConfig({ server: { rateLimit: { maxConnections: 2 } } });
    const store = new MemoryStore(new FakeClock(1));
    gateway = new GatewayLimiter(config, { store, documents: store, newLeaseId: () => `${++ids}` });
    sockets = [];
  });

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });

  async function listen(made: Server, target = {}): Promise<() => void> {
    server = made;
    const stop = limitConnections(server, gateway, target);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return stop;
  }

  async function open(): Promise<Socket> {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    sockets.push(socket);
    await once(socket, 'connect');
    return socket;
  }

  /** What the server sends back. */
  async function say(socket: Socket, text: string): Promise<string> {
    socket.write(text);
    const [heard] = (await once(socket, 'data')) as [Buffer];
    return heard.toString();
  }

  const used = async () => (await gateway.current('server')).connections;

  it('hold their place until they end, and one too many is closed', async () => {
    await listen(createServer((socket) => socket.pipe(socket)));
    const [first, second] = [await open(), await open()];
    expect(await say(first, 'one')).toBe('one');
    expect(await say(second, 'two')).toBe('two');
    const third = await open();
    await once(third.resume(), 'close');
    expect(await used()).toBe(2);
    first.destroy();
    await until('a place is free', async () => (await used()) === 1);
    expect(await say(await open(), 'four')).toBe('four');
  });

  it('lose nothing when somebody reads them only later', async () => {
    const made = createServer((socket) => {
      setImmediate(() => setImmediate(() => socket.pipe(new PassThrough()).pipe(socket)));
    });
    await listen(made);
    expect(await say(await open(), 'early')).toBe('early');
  });

  it('stay paused when they were', async () => {
    const accepted: Socket[] = [];
    await listen(createServer({ pauseOnConnect: true }, (socket) => void accepted.push(socket)));
    const client = await open();
    client.write('early');
    await until('it is admitted', async () => (await used()) === 1);
    expect(accepted[0]!.isPaused()).toBe(true);
    accepted[0]!.pipe(accepted[0]!);
    const [heard] = (await once(client, 'data')) as [Buffer];
    expect(heard.toString()).toBe('early');
  });

  it('may carry HTTP', async () => {
    await listen(createHttpServer((_request, response) => response.end('hello')));
    const answer = await say(await open(), 'GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(answer).toContain('hello');
    expect(await used()).toBe(1);
  });

  /** Whether all of them came to the same, and to what. */
  interface Fate {
    readonly status: number;
    readonly text: string;
    readonly error: string;
  }

  /** Sends a request on a socket of its own. */
  function ask(more: RequestOptions & { body?: string } = {}): Promise<Fate> {
    const { port } = server.address() as AddressInfo;
    const { body, ...options } = more;
    const send = server instanceof HttpsServer ? httpsRequest : httpRequest;
    return new Promise((resolve) => {
      const asked = send({
        ...{ host: '127.0.0.1', port, agent: false, rejectUnauthorized: false },
        ...options,
      });
      asked.on('socket', (socket) => sockets.push(socket));
      asked.on('error', ({ message }) => resolve({ status: 0, text: '', error: message }));
      asked.on('response', (response) => {
        let text = '';
        response.on('data', (data) => (text += String(data)));
        response.on('end', () =>
          resolve({ status: response.statusCode!, text, error: '', ...response }),
        );
      });
      asked.end(body);
    });
  }

  const SERVERS: readonly (readonly [string, (listener: RequestListener) => Server])[] = [
    ['http', (listener) => createHttpServer(listener)],
    ['https', (listener) => createHttpsServer(selfSignedCertificate(), listener)],
  ];

  describe.each(SERVERS)('of a server of %s', (_name, create) => {
    it('are two of 20 where two may be, and the others are answered 429', async () => {
      const handled: string[] = [];
      await listen(
        create((request, response) => {
          handled.push(request.url!);
          // Never answered: they hold their place.
          if (request.url === '/last') response.end('last');
        }),
      );
      const fates: Fate[] = [];
      for (let i = 0; i < 20; i++) {
        void ask({ path: `/${i}` }).then((fate) => fates.push(fate));
      }
      await until('18 to be refused', () => fates.length === 18);
      expect(fates.map(({ status, error }) => `${status}${error}`)).toEqual(
        Array.from({ length: 18 }, () => '429'),
      );
      expect(JSON.parse(fates[0]!.text)).toMatchObject({
        statusCode: 429,
        plans: ['server-connections'],
      });
      await until('two to be handled', () => handled.length === 2);
      expect(await used()).toBe(2);
      for (const socket of sockets) socket.destroy();
      await until('all places to be free', async () => (await used()) === 0);
      expect((await ask({ path: '/last' })).text).toBe('last');
      expect(handled).toHaveLength(3);
    });

    it('are answered although the client sends much', async () => {
      await gateway.updateServer({ maxConnections: 0 });
      let handled = 0;
      await listen(create(() => void handled++));
      const body = 'x'.repeat(500_000);
      const fates = await Promise.all(
        Array.from({ length: 10 }, () => ask({ method: 'POST', body })),
      );
      expect(fates.map(({ status, error }) => `${status}${error}`)).toEqual(
        Array.from({ length: 10 }, () => '429'),
      );
      expect(handled).toBe(0);
    });

    it('that are refused are over, whatever their clients do', async () => {
      await gateway.updateServer({ maxConnections: 0 });
      let handled = 0;
      await listen(create(() => void handled++));
      for (let i = 0; i < 10; i++) {
        const silent = await open();
        silent.on('error', () => undefined).resume();
        if (i % 2 === 0) silent.write('GET / HTTP/1.1\r\n');
      }
      const left = () =>
        new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));
      await until('the server to let go', async () => (await left()) === 0, 15_000);
      expect(handled).toBe(0);
    });
  });

  it('of a server of http tell Retry-After, and that they close', async () => {
    await gateway.tryAcquireConnection({ clientIp: '192.0.2.1' });
    await gateway.tryAcquireConnection({ clientIp: '192.0.2.1' });
    await listen(createHttpServer(() => undefined));
    const socket = await open();
    let heard = '';
    socket.on('data', (data) => (heard += String(data)));
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'end');
    const [head, body] = heard.split('\r\n\r\n') as [string, string];
    expect(head).toMatch(/^HTTP\/1\.1 429 Too Many Requests\r\n/);
    expect(head).toMatch(/\r\nRetry-After: \d+\r\n/);
    expect(head).toMatch(/\r\nConnection: close$/);
    expect(head).toContain(`Content-Length: ${body.length}`);
  });

  it.each([false, true])(
    'of a server of HTTP/2 are told to calm down (secure: %s)',
    async (secure) => {
      let streams = 0;
      const made = secure ? createSecureHttp2(selfSignedCertificate()) : createHttp2();
      made.on('stream', (stream: ServerHttp2Stream) => {
        streams++;
        stream.respond({ ':status': 200 });
        stream.end('hello');
      });
      await gateway.updateServer({ maxConnections: 1 });
      await listen(made);
      const { port } = server.address() as AddressInfo;
      const visit = () => {
        const session = connectHttp2(`http${secure ? 's' : ''}://127.0.0.1:${port}`, {
          rejectUnauthorized: false,
        });
        session.on('error', () => undefined);
        sockets.push({ destroy: () => session.destroy() } as unknown as Socket);
        const goaway = once(session, 'goaway').then(([code]) => `goaway ${code as number}`);
        const stream = session.request();
        stream.on('error', () => undefined).resume();
        const answer = once(stream, 'response').then(([headers]) =>
          String((headers as Record<string, unknown>)[':status']),
        );
        return Promise.race([goaway, answer.catch(() => new Promise<string>(() => undefined))]);
      };
      expect(await visit()).toBe('200');
      expect(await visit()).toBe('goaway 11');
      expect(streams).toBe(1);
    },
  );

  it('that are refused hear nothing, and nobody hears of them', async () => {
    const heard: string[] = [];
    const made = createServer((socket) => socket.write('welcome\r\n'));
    made.prependListener('connection', () => heard.push('prepended'));
    await listen(made);
    made.on('connection', () => heard.push('late'));
    const said: string[] = [];
    for (let i = 0; i < 20; i++) {
      const socket = await open();
      socket.on('error', () => undefined);
      socket.on('data', (data) => said.push(String(data)));
    }
    await until(
      '18 to be closed',
      () => sockets.filter(({ destroyed }) => destroyed).length === 18,
    );
    expect(said).toEqual(['welcome\r\n', 'welcome\r\n']);
    expect(heard).toEqual(['prepended', 'late', 'prepended', 'late']);
  });

  describe('while the store is asked', () => {
    let answer: () => void;

    beforeEach(() => {
      const told = new Promise<void>((resolve) => (answer = resolve));
      const open = gateway.tryAcquireConnection.bind(gateway);
      jest.spyOn(gateway, 'tryAcquireConnection').mockImplementation(async (target) => {
        await told;
        return open(target);
      });
    });

    it('wait with all that they bring', async () => {
      let handled = 0;
      await listen(
        createHttpServer((_request, response) => {
          handled++;
          response.end('hello');
        }),
      );
      const asked = [ask(), ask(), ask(), ask()];
      await until('all to be accepted', async () => {
        const count = await new Promise<number>((resolve) =>
          server.getConnections((_, open) => resolve(open)),
        );
        return count === 4;
      });
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(handled).toBe(0);
      answer();
      const fates = (await Promise.all(asked)).map(({ status }) => status);
      expect(fates.sort()).toEqual([200, 200, 429, 429]);
      expect(handled).toBe(2);
    });

    it.each(['destroy', 'resetAndDestroy'] as const)(
      'hold nothing when their client leaves (%s)',
      async (leave) => {
        let handled = 0;
        await listen(createServer(() => void handled++));
        const client = await open();
        await until('it to be accepted', async () => {
          const count = await new Promise<number>((resolve) =>
            server.getConnections((_, open) => resolve(open)),
          );
          return count === 1;
        });
        client[leave]();
        await new Promise((resolve) => setTimeout(resolve, 20));
        answer();
        await until('its place to be free', async () => (await used()) === 0);
        expect(handled).toBeLessThanOrEqual(leave === 'destroy' ? 1 : 0);
      },
    );
  });

  it('are not limited any more once that is stopped', async () => {
    const stop = await listen(createServer((socket) => socket.pipe(socket)));
    stop();
    for (const text of ['1', '2', '3']) expect(await say(await open(), text)).toBe(text);
    expect(await used()).toBe(0);
  });

  it('pass where the target is a mistake, which is told once', async () => {
    const error = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    await listen(
      createServer((socket) => socket.pipe(socket)),
      { routeId: 'nobody' },
    );
    for (const text of ['1', '2', '3']) expect(await say(await open(), text)).toBe(text);
    expect(error.mock.calls).toEqual([
      [
        'Connections are not limited, which is told once: ' +
          'There is no route "nobody". No routes are registered.',
      ],
    ]);
    error.mockRestore();
  });
});
