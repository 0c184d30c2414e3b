import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { limitConnections } from '../../lib/index.js';
import { checkGatewayConfig } from '../../lib/gateway/check-gateway-config.js';
import { GatewayLimiter } from '../../lib/gateway/gateway-limiter.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { FakeClock } from '../support/fake-clock.js';
import { until } from '../support/redis-servers.js';

describe('the connections of a server', () => {
  let gateway: GatewayLimiter;
  let server: Server;
  let sockets: Socket[];

  beforeEach(() => {
    let ids = 0;
    const config = checkGatewayConfig({ server: { rateLimit: { maxConnections: 2 } } });
    const store = new MemoryStore(new FakeClock(1));
    gateway = new GatewayLimiter(config, { store, newLeaseId: () => `${++ids}` });
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
