import type { DocumentStore } from '../core/document-store.js';
import type { LimitStore } from '../core/limit-store.js';
import type { FailurePolicy } from '../core/plan.js';
import type { HealthListener } from './breaker.js';
import type { RedisSource } from './connect.js';
import { connect, prefixOf, waitForReady } from './connect.js';
import { Deadline } from './deadline.js';
import { DenyCache } from './deny-cache.js';
import { FailSafeStore } from './fail-safe-store.js';
import { MovingSlotStore } from './moving-slot-store.js';
import { MovingSlots } from './moving-slots.js';
import { RedisConnection } from './redis-connection.js';
import { RedisKeys } from './redis-keys.js';
import type { RedisServers } from './redis-servers.js';
import { RedisStore } from './redis-store.js';
import type { OperationListener } from './round-trip-times.js';
import { checkServers, COMMANDS, NEWS_COMMANDS, TURN_COMMANDS } from './server-check.js';
import { isCluster, serversOf } from './servers-of.js';
import { afterLongSilence } from './silence.js';
import { SlotSplitStore } from './slot-split-store.js';

/** How long the application waits for Redis at start, so that its first requests are shared. */
const START_TIMEOUT_MS = 1_000;
/** How long the booking of a turn waits for Redis. */
const PATIENCE_MS = 1_000;

/** How Redis is used. */
export interface RedisStoresOptions {
  /** Stands before every key. */
  readonly keyPrefix: string;
  /** Longest that a decision waits for Redis, in milliseconds. */
  readonly deadlineMs: number;
  /** What happens to plans that do not say while Redis does not answer. */
  readonly onStoreFailure: FailurePolicy;
  /** The share of a plan that one process enforces alone, more than 0, up to 1. */
  readonly localShare: number;
  /** Whether denials are repeated without asking Redis. */
  readonly denyCache: boolean;
  /** Whether processes notify each other, so that the Redis user needs permission for it. */
  readonly publishes: boolean;
  /** Whether turns of outbound calls are booked, so that the Redis user needs permission for it. */
  readonly booksTurns: boolean;
}

/** What the stores need from outside. */
export interface RedisStoresDependencies {
  /** Decides while Redis does not answer. */
  readonly local: LimitStore;
  readonly health: HealthListener;
  readonly operations: OperationListener;
  readonly warn: (warning: string) => void;
}

/** What Redis keeps for an application. */
export interface RedisStores {
  /** Decides. To be closed: it opened the connections of both. */
  readonly limits: LimitStore;
  readonly documents: DocumentStore;
}

/** Connects to Redis and puts around its store what bounds its failures. */
export async function createRedisStores(
  source: RedisSource,
  options: RedisStoresOptions,
  { local, health, operations, warn }: RedisStoresDependencies,
): Promise<RedisStores> {
  const { deadlineMs, onStoreFailure, localShare, denyCache } = options;
  const nowMs = () => performance.now();
  const client = connect(source);
  const keyPrefix = prefixOf(source) + options.keyPrefix;
  const servers = serversOf(client);
  const deadline = new Deadline(deadlineMs, nowMs);
  const patience = new Deadline(Math.max(PATIENCE_MS, deadlineMs), nowMs);
  const moving = new MovingSlots(nowMs);
  const redis = new RedisStore(servers, {
    ...{ keyPrefix, deadline, patience, nowMs, moving },
    listener: operations,
  });
  const connection = new RedisConnection(servers, redis, new RedisKeys(keyPrefix));
  const inCluster = isCluster(client);
  const remote = inCluster ? new MovingSlotStore(redis, connection, moving) : redis;
  const failSafe = { onStoreFailure, localShare, listener: health, nowMs };
  let limits: LimitStore = new FailSafeStore(remote, local, connection, failSafe);
  if (inCluster) limits = new SlotSplitStore(limits, (limit) => connection.slotOf(limit));
  if (denyCache) limits = new DenyCache(limits, () => performance.now() * 1_000);
  await startUp(servers, keyPrefix, commandsFor(options), warn);
  return { limits, documents: redis.documents };
}

function commandsFor({ publishes, booksTurns }: RedisStoresOptions): readonly string[] {
  return [...COMMANDS, ...(publishes ? NEWS_COMMANDS : []), ...(booksTurns ? TURN_COMMANDS : [])];
}

/** Redis that is not there yet does not keep the application from starting; it is checked later. */
async function startUp(
  servers: RedisServers,
  keyPrefix: string,
  commands: readonly string[],
  warn: (warning: string) => void,
): Promise<void> {
  const { client } = servers;
  const check = async () => {
    for (const warning of await checkServers(servers, keyPrefix, commands)) warn(warning);
  };
  const ready = waitForReady(client, START_TIMEOUT_MS).then(() => {
    if (servers.whyNotReady() === undefined) return check();
    client.once('ready', () => void check());
    return undefined;
  });
  // Together no longer than that: a server may hang right after it was ready.
  await new Promise<void>((resolve, reject) => {
    const cancel = afterLongSilence(START_TIMEOUT_MS, resolve);
    ready.finally(cancel).then(resolve, reject);
  });
}
