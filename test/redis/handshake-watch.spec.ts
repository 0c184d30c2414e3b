import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { connect, waitForReady } from '../../lib/redis/connect.js';
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
