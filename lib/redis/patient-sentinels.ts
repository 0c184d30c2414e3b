import type { Redis, RedisOptions, SentinelAddress, SentinelConnectionOptions } from 'ioredis';
import { SentinelConnector } from 'ioredis';
import { GuardedConnector, guardSocket } from './guarded-connector.js';
import { watchHandshake } from './handshake-watch.js';
import { afterSilence } from './silence.js';

/** How long a master that sentinels named may take to accept a connection. */
const CONNECT_MS = 500;

/** What ioredis keeps to itself. */
interface SentinelClients {
  connectToSentinel(endpoint: Partial<SentinelAddress>, options?: RedisOptions): Redis;
}

type Stream = Awaited<ReturnType<SentinelConnector['connect']>>;

/**
 * Asks sentinels for the master. Gives up one that is silent and not one whose answer waits to be
 * read because this process is busy, as the timeouts of ioredis do.
 */
export class PatientSentinels extends SentinelConnector {
  constructor(options: unknown) {
    super(options as SentinelConnectionOptions);
    const clients = this as unknown as SentinelClients;
    const connect = clients.connectToSentinel.bind(this);
    clients.connectToSentinel = (endpoint, more) => {
      const client = connect(endpoint, { ...more, Connector: GuardedConnector });
      // One that is asked once ends after its answer; one that listens is silent by nature.
      watchHandshake(client, more?.lazyConnect ? 'ready' : 'end');
      return client;
    };
  }

  override async connect(...args: Parameters<SentinelConnector['connect']>): Promise<Stream> {
    const stream = await super.connect(...args);
    guardSocket(stream);
    const cancel = afterSilence(CONNECT_MS, () => {
      stream.destroy(Object.assign(new Error('connect ETIMEDOUT'), { code: 'ETIMEDOUT' }));
    });
    stream.once('encrypted' in stream ? 'secureConnect' : 'connect', cancel);
    stream.once('close', cancel);
    return stream;
  }
}
