import type { RedisOptions } from 'ioredis';
import { Redis } from 'ioredis';

/**
 * Where Redis is: a URL, options of ioredis (sentinels included), or a client of yours, whose
 * configuration is then used for a connection of our own.
 */
export type RedisSource = string | RedisOptions | Redis;

/**
 * With its defaults ioredis keeps commands of a dead server for over a minute, sends them again when
 * it is back, and waits for ever on one that hangs. A limiter needs the contrary: fail at once,
 * send nothing twice, notice silence, reconnect soon.
 */
const SAFE: RedisOptions = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  // Only safe together with the line above: alone it leaves promises that never settle.
  autoResendUnfulfilledCommands: false,
  enableAutoPipelining: false,
  connectTimeout: 500,
  // The only option that notices a server which hangs.
  socketTimeout: 750,
  maxLoadingRetryTime: 250,
  lazyConnect: false,
  retryStrategy: () => 50,
  reconnectOnError: (error) => /^(READONLY|MASTERDOWN|LOADING)/.test(error.message),
};

const SAFE_SENTINEL: RedisOptions = {
  // Without it a planned failover goes unnoticed for many seconds.
  failoverDetector: true,
  sentinelCommandTimeout: 500,
  sentinelReconnectStrategy: () => 100,
  sentinelRetryStrategy: () => 100,
};

/** Opens a connection of our own, with options that make its failures short. */
export function connect(source: RedisSource): Redis {
  if (typeof source === 'string') return new Redis(source, SAFE);
  const options: RedisOptions = source instanceof Redis ? source.options : source;
  return new Redis({ ...options, ...SAFE, ...(options.sentinels ? SAFE_SENTINEL : {}) });
}

/** Until the connection is usable, or the time is over: an application starts without Redis, too. */
export async function waitForReady(client: Redis, milliseconds: number): Promise<void> {
  if (client.status === 'ready') return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    client.once('ready', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
