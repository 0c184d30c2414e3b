import { once } from 'node:events';
import type { Socket } from 'socket.io-client';
import { io } from 'socket.io-client';
import { WebSocket } from 'ws';

/** What a gateway sent: the name of the event, and its data. */
export type Heard = readonly [event: string, data: unknown];

/** How a client connects. */
export interface ConnectOptions {
  /** The client's address: any of 127.0.0.0/8. */
  readonly from?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** What it says of itself, by socket.io. */
  readonly auth?: object;
}

/** A client of a gateway, whatever it speaks. */
export interface GatewayClient {
  /** Sends a message and waits for what comes back. */
  ask(event: string, data?: unknown): Promise<Heard>;
  /** Sends a message. */
  send(event: string, data?: unknown): void;
  /** What comes next. */
  next(): Promise<Heard>;
  /** Resolves when the connection is closed, by whomever. */
  readonly closed: Promise<unknown>;
  close(): void;
}

/** What has been heard, in order, and those who wait for it. */
class Inbox {
  readonly #heard: Heard[] = [];
  readonly #waiting: ((heard: Heard) => void)[] = [];

  put(heard: Heard): void {
    const waiting = this.#waiting.shift();
    if (waiting) waiting(heard);
    else this.#heard.push(heard);
  }

  next(): Promise<Heard> {
    const heard = this.#heard.shift();
    return heard ? Promise.resolve(heard) : new Promise((resolve) => this.#waiting.push(resolve));
  }
}

const open = new Set<GatewayClient>();

/** Connects by socket.io. */
export async function connectSocketIo(
  port: number,
  { from, headers, auth }: ConnectOptions = {},
): Promise<GatewayClient> {
  const socket: Socket = io(`http://127.0.0.1:${port}`, {
    transports: ['websocket'],
    forceNew: true,
    reconnection: false,
    ...(from === undefined ? {} : { localAddress: from }),
    ...(headers === undefined ? {} : { extraHeaders: { ...headers } }),
    ...(auth === undefined ? {} : { auth }),
  });
  const inbox = new Inbox();
  socket.onAny((event: string, data: unknown) => inbox.put([event, data]));
  const closed = new Promise((resolve) => socket.once('disconnect', resolve));
  await new Promise((resolve, reject) => {
    socket.once('connect', () => resolve(undefined));
    socket.once('connect_error', reject);
  });
  return remember({
    send: (event, data) => void socket.emit(event, data),
    next: () => inbox.next(),
    ask: (event, data) => {
      socket.emit(event, data);
      return inbox.next();
    },
    closed,
    close: () => void socket.close(),
  });
}

/** Connects by a plain WebSocket. */
export async function connectWs(
  port: number,
  { from, headers }: ConnectOptions = {},
): Promise<GatewayClient> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, {
    ...(from === undefined ? {} : { localAddress: from }),
    headers: { ...headers },
  });
  const inbox = new Inbox();
  socket.on('message', (text: Buffer) => {
    const { event, data } = JSON.parse(text.toString()) as { event: string; data: unknown };
    inbox.put([event, data]);
  });
  const closed = new Promise((resolve) => {
    socket.once('close', (code, reason) => resolve([code, reason.toString()]));
  });
  await once(socket, 'open');
  const send = (event: string, data?: unknown) => socket.send(JSON.stringify({ event, data }));
  return remember({
    send,
    next: () => inbox.next(),
    ask: (event, data) => {
      send(event, data);
      return inbox.next();
    },
    closed,
    close: () => socket.close(),
  });
}

/** Closes what a test left open. */
export async function closeClients(): Promise<void> {
  const clients = [...open];
  open.clear();
  for (const client of clients) client.close();
  await Promise.all(clients.map(({ closed }) => closed));
}

function remember(client: GatewayClient): GatewayClient {
  open.add(client);
  return client;
}
