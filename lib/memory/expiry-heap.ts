/** Something that ends at a time. `dueUs` and `heapIndex` belong to the heap. */
export interface Expiring {
  /** When it really ends, as things stand. The heap asks when it matters. */
  expiresUs(nowUs: number): number;
  /** When the heap believes that it ends. */
  dueUs: number;
  heapIndex: number;
}

/**
 * How many entries one search may move back that were used since they were filed: 0.3 ms among
 * 100 000. Without a bound, the first new key after a busy hour would pay for all of them.
 */
const MAX_REFILED = 1_000;

/**
 * A binary heap that finds what has expired. Entries move to a later end with every use; instead of
 * being sifted each time, an entry is only filed again when it comes to the top with a stale end.
 */
export class ExpiryHeap<E extends Expiring> {
  readonly #entries: E[] = [];

  add(entry: E, nowUs: number): void {
    entry.dueUs = entry.expiresUs(nowUs);
    entry.heapIndex = this.#entries.length;
    this.#entries.push(entry);
    this.#siftUp(entry);
  }

  remove(entry: E): void {
    const last = this.#entries.pop()!;
    if (last === entry) return;
    this.#place(last, entry.heapIndex);
    this.#siftUp(last);
    this.#siftDown(last);
  }

  /** Whether a search would find something to do. */
  isDue(byUs: number): boolean {
    const top = this.#entries[0];
    return top !== undefined && top.dueUs <= byUs;
  }

  /** An entry that has ended by then, if the search finds one. It stays in the heap. */
  findExpired(byUs: number, maxRefiled = MAX_REFILED): E | undefined {
    for (let refiled = 0; refiled <= maxRefiled; refiled++) {
      const top = this.#entries[0];
      if (!top || top.dueUs > byUs) return undefined;
      const expiresUs = top.expiresUs(byUs);
      if (expiresUs <= byUs) return top;
      top.dueUs = expiresUs;
      this.#siftDown(top);
    }
    return undefined;
  }

  #siftUp(entry: E): void {
    while (entry.heapIndex > 0) {
      const parent = this.#entries[(entry.heapIndex - 1) >> 1]!;
      if (parent.dueUs <= entry.dueUs) return;
      this.#swap(entry, parent);
    }
  }

  #siftDown(entry: E): void {
    for (;;) {
      const left = this.#entries[2 * entry.heapIndex + 1];
      const right = this.#entries[2 * entry.heapIndex + 2];
      const child = right && right.dueUs < left!.dueUs ? right : left;
      if (!child || child.dueUs >= entry.dueUs) return;
      this.#swap(entry, child);
    }
  }

  #swap(a: E, b: E): void {
    const indexOfA = a.heapIndex;
    this.#place(a, b.heapIndex);
    this.#place(b, indexOfA);
  }

  #place(entry: E, index: number): void {
    this.#entries[index] = entry;
    entry.heapIndex = index;
  }
}
