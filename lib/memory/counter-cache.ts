import type { Counter } from '../core/counter.js';
import type { Expiring } from './expiry-heap.js';
import { ExpiryHeap } from './expiry-heap.js';

/** A counter and its place in the cache. */
export interface CacheEntry extends Expiring {
  readonly plan: string;
  readonly key: string;
  counter: Counter;
  older: CacheEntry | undefined;
  newer: CacheEntry | undefined;
  /** When it was last moved to the newest end. */
  movedUs: number;
}

export type NewEntry = Pick<CacheEntry, 'plan' | 'key' | 'counter' | 'expiresUs'>;

/**
 * How exactly the order of use is kept. An entry that was moved less than this ago stays where it
 * is: moving it touches three others, a tenth of a decision's cost when many keys are in use.
 */
const RECENT_US = 1_000_000;

/** What has expired is kept this long while there is room: most keys come back soon. */
const GRACE_US = 60_000_000;

/**
 * Counters by plan and key, bounded in number. When it is full, what has expired goes first, so
 * that a flood of new keys cannot push out buckets that are still in use; only then the least
 * recently used. Finding costs the same however many there are. No timer: what has expired long ago
 * is dropped as new counters come in.
 */
export class CounterCache {
  /** By plan, then by key: no joined string to build and hash for every look-up (−80 ns each). */
  readonly #shelves = new Map<string, Map<string, CacheEntry>>();
  readonly #expiry = new ExpiryHeap<CacheEntry>();
  #newest: CacheEntry | undefined;
  #oldest: CacheEntry | undefined;
  #size = 0;

  constructor(readonly maxEntries: number) {}

  get size(): number {
    return this.#size;
  }

  /** The entry of that plan and key, which counts as a use. */
  find(plan: string, key: string, nowUs: number): CacheEntry | undefined {
    const entry = this.#shelves.get(plan)?.get(key);
    if (entry && nowUs - entry.movedUs > RECENT_US) {
      this.#unlink(entry);
      this.#linkNewest(entry, nowUs);
    }
    return entry;
  }

  /** Adds a counter that was not there, making room if there is none. */
  add({ plan, key, counter, expiresUs }: NewEntry, nowUs: number): void {
    this.#makeRoom(nowUs);
    const entry: CacheEntry = {
      plan,
      key,
      counter,
      expiresUs,
      dueUs: expiresUs,
      heapIndex: -1,
      older: undefined,
      newer: undefined,
      movedUs: nowUs,
    };
    this.#shelfOf(plan).set(key, entry);
    this.#linkNewest(entry, nowUs);
    this.#expiry.add(entry);
    this.#size++;
  }

  delete(plan: string, key: string): void {
    const entry = this.#shelves.get(plan)?.get(key);
    if (entry) this.#drop(entry);
  }

  #makeRoom(nowUs: number): void {
    const full = this.#size >= this.maxEntries;
    const expired = this.#expiry.findExpired(full ? nowUs : nowUs - GRACE_US);
    if (expired) this.#drop(expired);
    else if (full) this.#drop(this.#oldest!);
  }

  #shelfOf(plan: string): Map<string, CacheEntry> {
    let shelf = this.#shelves.get(plan);
    if (!shelf) this.#shelves.set(plan, (shelf = new Map()));
    return shelf;
  }

  #drop(entry: CacheEntry): void {
    const shelf = this.#shelves.get(entry.plan)!;
    shelf.delete(entry.key);
    if (shelf.size === 0) this.#shelves.delete(entry.plan);
    this.#expiry.remove(entry);
    this.#unlink(entry);
    this.#size--;
  }

  #linkNewest(entry: CacheEntry, nowUs: number): void {
    entry.movedUs = nowUs;
    entry.older = this.#newest;
    entry.newer = undefined;
    if (this.#newest) this.#newest.newer = entry;
    this.#newest = entry;
    this.#oldest ??= entry;
  }

  #unlink(entry: CacheEntry): void {
    if (entry.older) entry.older.newer = entry.newer;
    else this.#oldest = entry.newer;
    if (entry.newer) entry.newer.older = entry.older;
    else this.#newest = entry.older;
  }
}
