import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { connect as connectTo } from '../../lib/redis/connect.js';
import type { RedisServers } from '../../lib/redis/redis-servers.js';
import { serversOf } from '../../lib/redis/servers-of.js';
import { selfSignedCertificate } from '../outbound/self-signed-certificate.js';
import { compileLib } from '../support/compiled-lib.mjs';
import { sharedRedis, until } from '../support/redis-servers.js';

const ATTEMPTS = 8;
/** Longer than a handshake on a busy machine takes, as a rule. */
const RESET_AFTER_MS = 60;

/** A fatal alert as TLS 1.2 sends it in clear: a message could not be decoded. */
const ALERT = Buffer.from([0x15, 3, 3, 0, 2, 2, 50]);
const GARBAGE = Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n');

/** What a server does to a client, having a good one behind it. */
type Rudeness = (client: Socket, server: Socket) => void;

const relay = (client: Socket, server: Socket) => {
  client.on('data', (data) => server.write(data));
  server.on('data', (data) => client.write(data));
};

/** Adds to what the good server sends, from its message of that number on. */
const adding =
  (bytes: Buffer, from: number): Rudeness =>
  (client, server) => {
    let messages = 0;
    client.on('data', (data) => server.write(data));
    server.on('data', (data) => {
      client.write(messages++ < from ? data : Buffer.concat([data, bytes]));
    });
  };

/** Breaks in once the client has said so much. */
const after =
  (messages: number, breakIn: (client: Socket) => void): Rudeness =>
  (client, server) => {
    let said = 0;
    relay(client, server);
    client.on('data', () => {
      if (++said === messages) breakIn(client);
    });
  };

const thenReset = (bytes: Buffer) => (client: Socket) => {
  client.write(bytes);
  setImmediate(() => setImmediate(() => client.resetAndDestroy()));
};

const STAGES: Readonly<Record<string, Rudeness>> = {
  'reset at once': (client) => client.resetAndDestroy(),
  'end at once': (client) => client.end(),
  'garbage at once': thenReset(GARBAGE),
  'alert at once': thenReset(ALERT),
  'alert instead of an answer': after(1, thenReset(ALERT)),
  'reset in the handshake': after(1, (client) => client.resetAndDestroy()),
  'alert behind the certificate': adding(ALERT, 0),
  'garbage behind the certificate': adding(GARBAGE, 0),
  'alert after the handshake': after(2, thenReset(ALERT)),
  'garbage after the handshake': after(2, thenReset(GARBAGE)),
  'alert among answers': adding(ALERT, 1),
  'garbage among answers': adding(GARBAGE, 2),
};

const servers: Server[] = [];
const sockets = new Set<Socket>();
/** How often each port was connected to. */
const connections = new Map<number, number>();

async function listen(server: Server): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

function track(socket: Socket): Socket {
  sockets.add(socket);
  return socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
}

async function startRude(goodPort: number, rudeness: Rudeness): Promise<number> {
  const server = createServer((client) => {
    connections.set(port, (connections.get(port) ?? 0) + 1);
    const good = track(connect(goodPort, '127.0.0.1'));
    track(client).once('close', () => good.destroy());
    rudeness(client, good);
    setTimeout(() => client.resetAndDestroy(), RESET_AFTER_MS);
  });
  const port = await listen(server);
  return port;
}

interface Report {
  readonly stage: string;
  /** Sockets that were closed while nobody listened for their errors. */
  readonly unheard: number;
}

/** Lets a process of its own connect to all of them, again and again; tells how it ended. */
async function connectAgainAndAgain(via: string, ports: object, tls: object) {
  connections.clear();
  const client = join(import.meta.dirname, 'tls-client.mjs');
  const child = spawn(process.execPath, [
    client,
    compileLib(),
    JSON.stringify({ ports, tls, via }),
  ]);
  const ended = once(child, 'exit') as Promise<[number | null]>;
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  const isEnough = () =>
    Object.values(ports).every((port: number) => (connections.get(port) ?? 0) >= ATTEMPTS);
  await until('enough connections', () => child.exitCode !== null || isEnough());
  child.stdin.on('error', () => undefined).end('enough');
  const [[code], [report, errors]] = await Promise.all([ended, said]);
  return { code, errors, report: code === 0 ? (JSON.parse(report) as Report[]) : [] };
}

describe('a process whose Redis breaks off TLS in every way', () => {
  const ports: Record<string, number> = {};

  beforeAll(async () => {
    const good = createTlsServer(selfSignedCertificate(), (socket) => {
      track(socket).on('data', () => socket.write('+OK\r\n'));
    });
    good.on('tlsClientError', () => undefined);
    const goodPort = await listen(good);
    for (const [stage, rudeness] of Object.entries(STAGES)) {
      ports[stage] = await startRude(goodPort, rudeness);
    }
  });

  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  });

  it.each([
    ['server', 'is not trusted', {}],
    ['server', 'is taken', { rejectUnauthorized: false }],
    ['url', 'is not trusted', {}],
    ['cluster', 'is not trusted', {}],
    ['cluster', 'is taken', { rejectUnauthorized: false }],
    ['sentinel', 'is not trusted', {}],
    ['sentinel', 'is taken', { rejectUnauthorized: false }],
  ])('goes on, by %s, where the certificate %s', async (via, _trust, tls) => {
    const { code, errors, report } = await connectAgainAndAgain(via, ports, tls);
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    expect(report.map(({ stage, unheard }) => [stage, unheard])).toEqual(
      Object.keys(STAGES).map((stage) => [stage, 0]),
    );
  });
});

describe('a socket to Redis', () => {
  const open: RedisServers[] = [];

  afterAll(() => {
    for (const servers of open) servers.close();
  });

  it.each([
    ['a server', () => sharedRedis.url],
    ['sentinels', () => sharedRedis.sentinel],
    ['a cluster', () => sharedRedis.cluster],
  ] as const)('may have more than one error, also that for messages: %s', async (_name, source) => {
    const servers = serversOf(connectTo(source()));
    open.push(servers);
    await until('it is connected', () =>
      servers.masters().some(({ status }) => status === 'ready'),
    );
    const listening = servers.subscriber();
    // Or ioredis would print them.
    listening.on('error', () => undefined);
    await until('messages are heard', () =>
      listening.subscribe('broken-tls').then(
        () => true,
        () => false,
      ),
    );
    const inner = (listening as unknown as { subscriber?: { getInstance(): Redis } }).subscriber;
    for (const { stream } of [...servers.masters(), inner?.getInstance() ?? listening] as Redis[]) {
      if (!stream) continue;
      for (const error of ['first', 'second', 'third']) stream.emit('error', new Error(error));
    }
    listening.disconnect();
  });
});
