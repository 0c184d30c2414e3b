import type { NetConnectOpts, Socket } from 'node:net';
import { connect as connectTcp } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { connect as connectTls } from 'node:tls';
import type { Cluster, Redis, StandaloneConnectionOptions } from 'ioredis';
import { AbstractConnector } from 'ioredis';

/** What ioredis tells a client that was disconnected before it had a socket. */
const CLOSED = 'Connection is closed.';

/**
 * Keeps a socket from ending the process. ioredis listens for its first error only, and a TLS socket
 * may have more: an alert that the server sends behind its certificate, then that the certificate is
 * not trusted, or that the connection was reset.
 */
export function guardSocket(socket: Pick<Socket, 'on'>): void {
  socket.on('error', () => undefined);
}

/** Opens the socket of a client as ioredis does by itself, and guards it. */
export class GuardedConnector extends AbstractConnector {
  private readonly options: StandaloneConnectionOptions;

  constructor(options: unknown) {
    super((options as { disconnectTimeout: number }).disconnectTimeout);
    this.options = options as StandaloneConnectionOptions;
  }

  override connect(): Promise<Socket> {
    this.connecting = true;
    // In the next tick: ioredis may be told to disconnect before.
    return new Promise((resolve) => process.nextTick(() => resolve(this.#open())));
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- what Node throws is a rejection
  async #open(): Promise<Socket> {
    if (!this.connecting) throw new Error(CLOSED);
    const socket = open(this.options);
    this.stream = socket;
    guardSocket(socket);
    // Read by ioredis when the socket is closed before it listens itself.
    socket.once('error', (error) => (this.firstError = error));
    return socket;
  }
}

/** What ioredis keeps to itself. */
interface ClusterSubscriber {
  selectSubscriber(): void;
  getInstance(): Pick<Redis, 'on'> | null;
}

/** Guards the connection for messages of a cluster, which ioredis opens without our options. */
export function guardSubscriber(cluster: Cluster): void {
  const { subscriber } = cluster as unknown as { subscriber: ClusterSubscriber };
  const select = subscriber.selectSubscriber.bind(subscriber);
  subscriber.selectSubscriber = () => {
    select();
    const client = subscriber.getInstance();
    // Its socket is made one tick after this is told.
    client?.on('connecting', () => {
      process.nextTick(() => {
        const { connector } = client as unknown as { connector: { stream?: Socket } };
        if (connector.stream) guardSocket(connector.stream);
      });
    });
  };
}

function open(options: StandaloneConnectionOptions): Socket {
  const { path, port, host, family, tls } = options as Partial<Record<string, unknown>>;
  const where = path ? { path } : defined({ port, host, family });
  return tls
    ? connectTls({ ...where, ...tls } as ConnectionOptions)
    : connectTcp(where as unknown as NetConnectOpts);
}

/** Left out, not undefined: the defaults of Node count. */
function defined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null));
}
