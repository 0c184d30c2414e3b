import type { Counter } from '../core/counter.js';
import type { Limit } from '../core/limit-store.js';
import type { Plan } from '../core/plan.js';
import { countsAlike } from '../core/kept-count.js';
import type { Expiring } from './expiry-heap.js';
import { ExpiryHeap } from './expiry-heap.js';
import { PlanMix } from './plan-mix.js';

/**
 * How exactly the order of use is kept. An entry that was moved less than this ago stays where it
 * is: moving it touches three others, 5 to 10 % of a decision when many keys are in use.
 */
const RECENT_SECONDS = 1;

/** A counter and its place in the cache. */
export class CacheEntry implements Expiring {
  older: CacheEntry | undefined = undefined;
  newer: CacheEntry | undefined = undefined;
  heapIndex = -1;
  due = 0;
  /** When it was last moved to the newest end; whole, so that it is stored without a box. */
  movedSeconds = 0;
  /** The decision in which it was last asked for. */
  turn = 0;
  /** Made when a second definition of the plan is charged. */
  mix: PlanMix | undefined = undefined;

  constructor(
    /** As it was when the counter was last charged. */
    public plan: Plan,
    readonly key: string,
    public counter: Counter,
  ) {}

  /** Asked for when room is needed, not kept up to date with every charge. */
  expiresUs(nowUs: number): number {
    return Math.max(nowUs + this.counter.resetUs(this.plan, nowUs), this.mix?.expiresUs ?? 0);
  }

  /** The counter that a plan goes by: not that of the last charge, if the plan has two definitions. */
  counterOf(plan: Plan, nowUs: number): Counter {
    if (this.plan === plan || countsAlike(this.plan, plan)) return this.counter;
    return (this.mix ?? new PlanMix()).counterOf(plan, this, nowUs);
  }

  /** Whether a counter has begun with what is left of that of the last charge. */
  hasBegun(counter: Counter, nowUs: number): boolean {
    if (counter === this.counter || counter === this.mix?.other?.counter) return false;
    return !(this.mix ?? new PlanMix()).isOver(this, nowUs);
  }

  /** Goes on with another definition of the plan, and its counter. */
  adopt(plan: Plan, counter: Counter, nowUs: number): void {
    if (plan.kind !== 'concurrency') (this.mix ??= new PlanMix()).adopt(plan, counter, this, nowUs);
    this.plan = plan;
    this.counter = counter;
  }
}

/** How many held slots one search for room passes over. */
const MAX_PASSED_OVER = 1_000;

/** What has expired is kept this long while there is room: most keys come back soon. */
const GRACE_US = 60_000_000;

/** How many entries are looked at for that, once a second: about a millisecond, if there are so many. */
const MAX_LOOKED_AT = 2_000;

/**
 * Counters by plan and key, bounded in number. When it is full, what has expired goes first, so
 * that a flood of new keys cannot push out buckets that are still in use; only then the least
 * recently used. Finding costs the same however many there are. No timer: what has expired long ago
 * is dropped bit by bit as long as anything is decided.
 */
export class CounterCache {
  /** By plan, then by key: no joined string to build and hash for every look-up. */
  readonly #shelves = new Map<string, Map<string, CacheEntry>>();
  /** Leases are never mixed up with tokens of a plan that was of another kind before. */
  readonly #leases = new Map<string, Map<string, CacheEntry>>();
  readonly #expiry = new ExpiryHeap<CacheEntry>();
  #newest: CacheEntry | undefined;
  #oldest: CacheEntry | undefined;
  #size = 0;
  #evictions = 0;
  #turn = 0;
  /** The time of the turn, as exactly as the order of use is kept. */
  #seconds = 0;

  constructor(readonly maxEntries: number) {}

  get size(): number {
    return this.#size;
  }

  /** How many were forgotten before their time, for want of room. */
  get evictions(): number {
    return this.#evictions;
  }

  /** Begins a decision: what it finds is not dropped before the next one begins. */
  beginTurn(nowUs: number): void {
    // Stays a small integer, which is stored without a box.
    this.#turn = (this.#turn + 1) & 0x3fffffff;
    const seconds = Math.floor(nowUs / 1_000_000);
    if (seconds !== this.#seconds) this.#dropIdle(nowUs);
    this.#seconds = seconds;
  }

  /** The entry of that plan and key, which counts as a use. */
  find({ plan, key }: Limit): CacheEntry | undefined {
    const entry = this.#shelvesOf(plan).get(plan.name)?.get(key);
    if (entry === undefined) return undefined;
    entry.turn = this.#turn;
    if (this.#seconds - entry.movedSeconds > RECENT_SECONDS) {
      this.#unlink(entry);
      this.#linkNewest(entry);
    }
    return entry;
  }

  /** Adds a counter that was not there, making room if there is none. */
  add({ plan, key }: Limit, counter: Counter, nowUs: number): void {
    this.#makeRoom(nowUs);
    const entry = new CacheEntry(plan, key, counter);
    entry.turn = this.#turn;
    this.#shelfOf(plan).set(key, entry);
    this.#linkNewest(entry);
    this.#expiry.add(entry, nowUs);
    this.#size++;
  }

  delete({ plan, key }: Limit): void {
    const entry = this.#shelvesOf(plan).get(plan.name)?.get(key);
    if (entry) this.#drop(entry);
  }

  /** Whoever is not heard of any more is forgotten, also when nobody new needs the room. */
  #dropIdle(nowUs: number): void {
    const byUs = nowUs - GRACE_US;
    for (let looked = 0; looked < MAX_LOOKED_AT && this.#expiry.isDue(byUs); looked++) {
      const idle = this.#expiry.findExpired(byUs, 0);
      if (idle) this.#drop(idle);
    }
  }

  #makeRoom(nowUs: number): void {
    const full = this.#size >= this.maxEntries;
    const expired = this.#expiry.findExpired(full ? nowUs : nowUs - GRACE_US);
    const spare = expired && expired.turn !== this.#turn ? expired : undefined;
    const dropped = spare ?? (full ? this.#leastRecentlyUsed(nowUs) : undefined);
    if (dropped) this.#drop(dropped);
    if (dropped && !spare) this.#evictions++;
  }

  /** Slots that are held are passed over, as far as a bounded search goes: they are not idle. */
  #leastRecentlyUsed(nowUs: number): CacheEntry | undefined {
    let entry = this.#oldest;
    while (entry?.turn === this.#turn) entry = entry.newer;
    const oldest = entry;
    for (let passed = 0; entry && passed < MAX_PASSED_OVER; passed++) {
      const held = entry.counter.kind === 'concurrency' && entry.expiresUs(nowUs) > nowUs;
      if (!held && entry.turn !== this.#turn) return entry;
      entry = entry.newer;
    }
    return oldest;
  }

  #shelvesOf(plan: Plan): Map<string, Map<string, CacheEntry>> {
    return plan.kind === 'concurrency' ? this.#leases : this.#shelves;
  }

  #shelfOf(plan: Plan): Map<string, CacheEntry> {
    const shelves = this.#shelvesOf(plan);
    const shelf = shelves.get(plan.name) ?? new Map<string, CacheEntry>();
    shelves.set(plan.name, shelf);
    return shelf;
  }

  #drop(entry: CacheEntry): void {
    const { name } = entry.plan;
    const shelves = this.#shelvesOf(entry.plan);
    const shelf = shelves.get(name)!;
    shelf.delete(entry.key);
    if (shelf.size === 0) shelves.delete(name);
    this.#expiry.remove(entry);
    this.#unlink(entry);
    this.#size--;
  }

  #linkNewest(entry: CacheEntry): void {
    entry.movedSeconds = this.#seconds;
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
