import type { ClusterNode, ClusterOptions, RedisOptions } from 'ioredis';
import { Cluster, Redis } from 'ioredis';
import { GuardedConnector } from './guarded-connector.js';
import { PatientSentinels } from './patient-sentinels.js';
import type { RedisClient } from './redis-servers.js';
import { afterLongSilence } from './silence.js';

/** A cluster by some of its nodes, with options of ioredis. */
export interface ClusterSource extends ClusterOptions {
  /** Some of its nodes; they tell the others. */
  readonly nodes: readonly ClusterNode[];
}

/**
 * Where Redis is: a URL, options of ioredis (sentinels included), nodes of a cluster, or a client of
 * yours, whose configuration is then used for a connection of our own.
 */
export type RedisSource =
  string | RedisOptions | readonly ClusterNode[] | ClusterSource | RedisClient;

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
  // Servers that hang are noticed by watchHandshake, by the deadline and by the probe. The timers of
  // ioredis would also drop healthy connections of a busy process: these are a last resort.
  connectTimeout: 10_000,
  socketTimeout: 60_000,
  maxLoadingRetryTime: 250,
  // How long a server that does not take part in closing holds it up.
  disconnectTimeout: 100,
  lazyConnect: false,
  // What another use of the same client may have wanted, and ours cannot live with.
  stringNumbers: false,
  role: 'master',
  keyPrefix: '',
  retryStrategy: () => 50,
  reconnectOnError: (error) => /^(READONLY|MASTERDOWN|LOADING)/.test(error.message),
};

const SAFE_SENTINEL: RedisOptions = {
  // Without it a planned failover goes unnoticed for many seconds.
  failoverDetector: true,
  Connector: PatientSentinels,
  sentinelReconnectStrategy: () => 100,
  sentinelRetryStrategy: () => 100,
};

const SLOTS_REFRESH_TIMEOUT_MS = 500;

const SAFE_CLUSTER: ClusterOptions = {
  enableOfflineQueue: false,
  // Under it, callers see MOVED for as long as a slot that moved shares a batch with others.
  enableAutoPipelining: false,
  scaleReads: 'master',
  slotsRefreshTimeout: SLOTS_REFRESH_TIMEOUT_MS,
  // Off by default, and then a master that hangs is asked for ever.
  slotsRefreshInterval: 2_000,
  // Anything but 0 sends again what may have been carried out.
  retryDelayOnFailover: 0,
  retryDelayOnClusterDown: 0,
  // A slot that is moving may take seconds: its keys are asked for one by one instead.
  retryDelayOnTryAgain: 1,
  maxRedirections: 4,
  clusterRetryStrategy(this: Cluster, attempts) {
    // A busy process needs longer to hear which node holds what than one that is idle.
    const timeoutMs = SLOTS_REFRESH_TIMEOUT_MS * 2 ** Math.min(attempts, 2);
    this.options.slotsRefreshTimeout = timeoutMs;
    return 100;
  },
  lazyConnect: false,
  keyPrefix: '',
};

/** Opens a connection of our own, with options that make its failures short. */
export function connect(source: RedisSource): RedisClient {
  if (typeof source === 'string') {
    return new Redis(withoutUnsafe(source), { ...SAFE, Connector: GuardedConnector });
  }
  if (isList(source)) return connectCluster(source, {});
  if ('isCluster' in source) return connectLike(source);
  if ('nodes' in source) {
    const { nodes, ...options } = source;
    return connectCluster(nodes, options);
  }
  return connectServer(source);
}

/** What ioredis would put before every key; ours are named in full. */
export function prefixOf(source: RedisSource): string {
  if (typeof source === 'string' || isList(source)) return '';
  const { keyPrefix, redisOptions } = ('isCluster' in source ? source.options : source) as {
    readonly keyPrefix?: string;
    readonly redisOptions?: { readonly keyPrefix?: string };
  };
  return keyPrefix ?? redisOptions?.keyPrefix ?? '';
}

/** Options in the query of a URL count before those in the code. */
function withoutUnsafe(source: string): string {
  const url = new URL(source);
  for (const option of [...Object.keys(SAFE), 'commandTimeout']) url.searchParams.delete(option);
  return url.href;
}

/** Until the connection is usable, or the time is over: an application starts without Redis, too. */
export async function waitForReady(client: RedisClient, milliseconds: number): Promise<void> {
  if (client.status === 'ready') return;
  await new Promise<void>((resolve) => {
    const cancel = afterLongSilence(milliseconds, resolve);
    client.once('ready', () => {
      cancel();
      resolve();
    });
  });
}

/** Told by what it has rather than by its class: the application may have another copy of ioredis. */
function connectLike(client: RedisClient): RedisClient {
  if (!client.isCluster) return connectServer(client.options);
  const { startupNodes } = client as unknown as { startupNodes: readonly ClusterNode[] };
  return connectCluster(startupNodes, client.options);
}

function connectServer(options: RedisOptions): Redis {
  return new Redis({ ...safely(options), ...(options.sentinels ? SAFE_SENTINEL : {}) });
}

function connectCluster(nodes: readonly ClusterNode[], options: ClusterOptions): Cluster {
  const redisOptions = safely(options.redisOptions ?? {});
  return new Cluster([...nodes], { ...options, ...SAFE_CLUSTER, redisOptions });
}

/** Options that are safe, whatever they were. */
function safely(options: RedisOptions): RedisOptions {
  const safe: RedisOptions = { ...options, ...SAFE };
  safe.Connector ??= GuardedConnector;
  // It would also bound the handshake, and a client that never gets through it is no use.
  delete safe.commandTimeout;
  return safe;
}

function isList(source: RedisSource): source is readonly ClusterNode[] {
  return Array.isArray(source);
}
