import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Redis } from 'ioredis';
import { connect, waitForReady } from '../../lib/redis/connect.js';
import { watchHandshake } from '../../lib/redis/handshake-watch.js';
import { serversOf } from '../../lib/redis/servers-of.js';
import { sharedRedis, until } from '../support/redis-servers.js';

/** Keeps the process busy, so that timers are late and sockets are not read. */
function compute(milliseconds: number): void {
  const untilMs = performance.now() + milliseconds;
  while (performance.now() < untilMs);
}

describe('a connection that is being made', () => {
  const sockets: Socket[] = [];
  let silent: Server;

  beforeEach(async () => {
    silent = createServer((socket) => sockets.push(socket.on('error', () => undefined)));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  });

  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await new Promise((resolve) => silent.close(resolve));
  });

  it('is given up and made anew when the server accepts it and says nothing', async () => {
    const { port } = silent.address() as AddressInfo;
    const servers = serversOf(connect(`redis://127.0.0.1:${port}`));
    const beganMs = performance.now();
    await until('a second connection', () => sockets.length > 1);
    expect(performance.now() - beganMs).toBeGreaterThan(600);
    servers.close();
  });

  it('is kept when this process computes for longer than it would wait', async () => {
    const servers = serversOf(connect(sharedRedis.url));
    let connections = 0;
    servers.client.on('connect', () => connections++);
    // Each step of the handshake is answered while nobody reads.
    while (servers.client.status !== 'ready') {
      compute(700);
      await new Promise(setImmediate);
    }
    expect(connections).toBe(1);
    servers.close();
  });

  it('is waited for at start while this process computes', async () => {
    const servers = serversOf(connect(sharedRedis.url));
    const ready = waitForReady(servers.client, 1_000);
    let isOver = false;
    void ready.then(() => (isOver = true));
    while (!isOver) {
      compute(400);
      await new Promise(setImmediate);
    }
    expect(servers.client.status).toBe('ready');
    servers.close();
  });
});

describe('the watch over a handshake', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  /** A client that does nothing by itself. */
  function watched(until?: 'ready' | 'end', status = 'wait') {
    const dropped: unknown[] = [];
    const stream = Object.assign(new EventEmitter(), { destroy: () => dropped.push('destroyed') });
    const client = Object.assign(new EventEmitter(), {
      ...{ options: {}, status, stream },
      disconnect: (reconnect: boolean) => dropped.push({ reconnect }),
    });
    watchHandshake(client as unknown as Redis, until);
    const pass = (milliseconds: number) => jest.advanceTimersByTimeAsync(milliseconds);
    return { client, stream, dropped, pass };
  }

  it('drops what is silent for 600 ms, to be connected again', async () => {
    const { client, dropped, pass } = watched();
    client.emit('connecting');
    await pass(599);
    expect(dropped).toEqual([]);
    await pass(10);
    expect(dropped).toEqual([{ reconnect: true }, 'destroyed']);
  });

  it('sees also what was connecting before', async () => {
    const { dropped, pass } = watched('ready', 'connecting');
    await pass(610);
    expect(dropped).toHaveLength(2);
  });

  it('begins anew with all that is heard', async () => {
    const { client, stream, dropped, pass } = watched();
    client.emit('connecting');
    await pass(500);
    client.emit('connect');
    for (let i = 0; i < 5; i++) {
      await pass(500);
      stream.emit('data');
    }
    expect(dropped).toEqual([]);
    await pass(610);
    expect(dropped).toHaveLength(2);
  });

  it.each([
    ['ready', 0],
    ['end', 2],
  ] as const)('until %s, a silence later counts %d', async (until, expected) => {
    const { client, dropped, pass } = watched(until);
    client.emit('connecting');
    client.emit('connect');
    client.emit('ready');
    await pass(2_000);
    expect(dropped).toHaveLength(expected);
  });

  it.each(['close', 'end'])('is over with %s', async (event) => {
    const { client, dropped, pass } = watched('end');
    client.emit('connecting');
    client.emit(event);
    await pass(2_000);
    expect(dropped).toEqual([]);
    expect(jest.getTimerCount()).toBe(0);
  });
});
