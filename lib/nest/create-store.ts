import { performance } from 'node:perf_hooks';
import { Logger } from '@nestjs/common';
import { InvalidOptionError } from '../core/errors.js';
import type { LimitStore } from '../core/limit-store.js';
import { MemoryStore } from '../memory/memory-store.js';
import { MonotonicClock } from '../memory/monotonic-clock.js';
import type { Observation } from '../observe/observation.js';
import type { RedisSource } from '../redis/connect.js';
import { connect, prefixOf, waitForReady } from '../redis/connect.js';
import { Deadline } from '../redis/deadline.js';
import { DenyCache } from '../redis/deny-cache.js';
import { FailSafeStore } from '../redis/fail-safe-store.js';
import { MovingSlotStore } from '../redis/moving-slot-store.js';
import { MovingSlots } from '../redis/moving-slots.js';
import { RedisConnection } from '../redis/redis-connection.js';
import { RedisKeys } from '../redis/redis-keys.js';
import type { RedisServers } from '../redis/redis-servers.js';
import { RedisStore } from '../redis/redis-store.js';
import { checkServers, COMMANDS, NEWS_COMMANDS, TURN_COMMANDS } from '../redis/server-check.js';
import { isCluster, serversOf } from '../redis/servers-of.js';
import { afterLongSilence } from '../redis/silence.js';
import { SlotSplitStore } from '../redis/slot-split-store.js';
import { HealthListeners } from './health-listeners.js';
import type { CheckedOptions } from './rate-limit-options.js';
import { StoreHealthLogger } from './store-health.logger.js';

/** How long the application waits for Redis at start, so that its first requests are shared. */
const START_TIMEOUT_MS = 1_000;

/** How long the booking of a turn waits for Redis. */
const PATIENCE_MS = 1_000;

const logger = new Logger('RateLimit');

/** The store that the options ask for. */
export async function createStore(
  options: CheckedOptions,
  observation: Observation,
): Promise<LimitStore> {
  const { store, redis, clock = new MonotonicClock(), maxLimits } = options;
  if (store && redis) throw new InvalidOptionError('redis', 'left out beside `store`', 'both');
  if (store) return store;
  const memory = new MemoryStore(clock, maxLimits);
  return redis === undefined ? memory : shared(redis, memory, { ...options, observation });
}

/** Redis that is not there yet does not keep the application from starting; it is checked later. */
async function startUp(
  servers: RedisServers,
  keyPrefix: string,
  commands: readonly string[],
): Promise<void> {
  const { client } = servers;
  const check = async () => {
    const warnings = await checkServers(servers, keyPrefix, commands);
    for (const warning of warnings) logger.warn(warning);
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

async function shared(
  source: RedisSource,
  local: LimitStore,
  options: CheckedOptions & { readonly observation: Observation },
): Promise<LimitStore> {
  const { observation } = options;
  const { deadlineMs, onStoreFailure, localShare, denyCache, outbound, gateway } = options;
  const nowMs = () => performance.now();
  const client = connect(source);
  const keyPrefix = prefixOf(source) + options.keyPrefix;
  const servers = serversOf(client);
  const keys = new RedisKeys(keyPrefix);
  const deadline = new Deadline(deadlineMs, nowMs);
  const patience = new Deadline(Math.max(PATIENCE_MS, deadlineMs), nowMs);
  const moving = new MovingSlots(nowMs);
  const redis = new RedisStore(servers, {
    ...{ keyPrefix, deadline, patience, nowMs, moving },
    listener: observation.operations,
  });
  const connection = new RedisConnection(servers, redis, keys);
  const inCluster = isCluster(client);
  const remote = inCluster ? new MovingSlotStore(redis, connection, moving) : redis;
  const listener = new HealthListeners([new StoreHealthLogger(), observation.health]);
  let store: LimitStore = new FailSafeStore(remote, local, connection, {
    onStoreFailure,
    localShare,
    listener,
    nowMs,
  });
  if (inCluster) store = new SlotSplitStore(store, (limit) => connection.slotOf(limit));
  const tellsOthers = outbound !== undefined || gateway !== undefined;
  const commands = [
    ...COMMANDS,
    ...(tellsOthers ? NEWS_COMMANDS : []),
    ...(outbound === undefined ? [] : TURN_COMMANDS),
  ];
  await startUp(servers, keyPrefix, commands);
  return denyCache ? new DenyCache(store, () => performance.now() * 1_000) : store;
}
