/** A key that occurs often. */
export interface HeavyHitter {
  readonly key: string;
  /** How often it occurred since it is followed, as the weights say. */
  readonly count: number;
  /** How often it was seen: it occurred at least as often. */
  readonly atLeast: number;
  /** It occurred no more often, as the weights say: also before it was followed. */
  readonly atMost: number;
}

interface Entry {
  key: string;
  /** The most that it can have occurred. */
  most: number;
  /** How much of that may be of keys that were followed here before. */
  error: number;
  /** How often it was seen, whatever the weights. */
  seen: number;
  /** What `most` was when it got its place in the heap. */
  rank: number;
}

/** Keys that are followed at most under one name. */
export const MAX_KEYS = 1_000;

/** Keys that are followed even when there is no room left. */
export const FEW_KEYS = 32;

/** Places for keys, which many sketches share. */
export class KeyRoom {
  constructor(private left = 10_000) {}

  take(): boolean {
    return this.left > 0 && this.left-- > 0;
  }
}

/**
 * Finds the keys that occur most among any number of them, in bounded room: the space-saving sketch
 * of Metwally, Agrawal and El Abbadi. With m places and n occurrences no bound is off by more than
 * n/m, and every key that occurs more often than that is among them. While there are places for all
 * keys, it is exact.
 *
 * The rarest key is on top of a heap. A key that occurs again stays where it is, too near to the top;
 * it moves when it gets there, so that counting a key that is known takes one look into a map.
 */
export class HeavyHitters {
  readonly #entries = new Map<string, Entry>();
  readonly #heap: Entry[] = [];

  constructor(
    private readonly room = new KeyRoom(),
    private readonly max = MAX_KEYS,
    private readonly few = FEW_KEYS,
  ) {}

  /** Counts a key that was seen once and stands for `weight` occurrences. */
  add(key: string, weight: number): void {
    const known = this.#entries.get(key);
    if (known) {
      known.most += weight;
      known.seen++;
    } else if (this.#hasPlace()) this.#follow(key, weight);
    else this.#replaceRarest(key, weight);
  }

  /** The first of them, those that occurred most often first. */
  top(count: number): HeavyHitter[] {
    return [...this.#heap]
      .sort((one, other) => other.most - other.error - (one.most - one.error))
      .slice(0, count)
      .map(({ key, most, error, seen }) => ({
        key,
        count: most - error,
        atLeast: seen,
        atMost: most,
      }));
  }

  #hasPlace(): boolean {
    const { length } = this.#heap;
    return length < this.few || (length < this.max && this.room.take());
  }

  /** Below all others, and a parent to none of them: a heap of equal ranks needs no order. */
  #follow(key: string, weight: number): void {
    const entry = { key, most: weight, error: 0, seen: 1, rank: 0 };
    this.#entries.set(key, entry);
    this.#heap.push(entry);
  }

  /** Takes the place of the rarest, and its count: it may have been there before. */
  #replaceRarest(key: string, weight: number): void {
    const entry = this.#rarest();
    this.#entries.delete(entry.key);
    entry.key = key;
    entry.error = entry.most;
    entry.most += weight;
    entry.seen = 1;
    this.#entries.set(key, entry);
  }

  #rarest(): Entry {
    const heap = this.#heap;
    while (heap[0]!.rank !== heap[0]!.most) this.#sinkTop();
    return heap[0]!;
  }

  /** Puts what is on top where it belongs by now. */
  #sinkTop(): void {
    const heap = this.#heap;
    const top = heap[0]!;
    top.rank = top.most;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= heap.length) break;
      const right = heap[child + 1];
      if (right !== undefined && right.rank < heap[child]!.rank) child++;
      if (heap[child]!.rank >= top.rank) break;
      heap[place] = heap[child]!;
      place = child;
    }
    heap[place] = top;
  }
}
