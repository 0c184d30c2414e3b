import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import type { DocumentStore } from '../../lib/core/document-store.js';
import type { LimitStore } from '../../lib/core/limit-store.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import type { RedisServers } from '../../lib/redis/redis-servers.js';
import { RedisStore } from '../../lib/redis/redis-store.js';
import { serversOf } from '../../lib/redis/servers-of.js';
import { FakeClock } from '../support/fake-clock.js';
import { sharedRedis } from '../support/redis-servers.js';

/** What several gateways share, with nothing in it yet, and the clock that it goes by. */
export interface SharedLimits {
  readonly clock: FakeClock;
  /** The stores as one more process sees them. */
  readonly open: () => { readonly store: LimitStore; readonly documents: DocumentStore };
}

/** A kind of store, of which every sequence gets a new one. */
export interface StoreKind {
  readonly name: string;
  /** How many sequences can be tried in a second or so. */
  readonly runs: number;
  create(): SharedLimits;
  close(): void;
}

/** Raise it to search longer: FAST_CHECK_FACTOR=100 npm test -- test/gateway */
const FACTOR = Number(process.env['FAST_CHECK_FACTOR'] ?? 1);

/** Both stores, each on a clock that stands still until it is told to move. */
export function storeKinds(): readonly StoreKind[] {
  return [inMemory(), onRedis()];
}

function inMemory(): StoreKind {
  return {
    name: 'in memory',
    runs: 100 * FACTOR,
    create() {
      const clock = new FakeClock();
      const store = new MemoryStore(clock);
      return { clock, open: () => ({ store, documents: store }) };
    },
    close: () => undefined,
  };
}

function onRedis(): StoreKind {
  let servers: RedisServers | undefined;
  return {
    name: 'on Redis',
    runs: 25 * FACTOR,
    create() {
      servers ??= serversOf(new Redis(sharedRedis.url));
      const clock = new FakeClock(1_800_000_000_000_003);
      // A prefix of its own, so that it finds nothing of those before it.
      const options = { keyPrefix: randomUUID(), nowUs: () => clock.nowUs() };
      const open = () => {
        const store = new RedisStore(servers!, options);
        return { store, documents: store.documents };
      };
      return { clock, open };
    },
    close: () => servers?.close(),
  };
}
