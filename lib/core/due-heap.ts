/** Something that is due at a time, in whatever unit its owner counts. */
export interface Due {
  /** To be changed only while it is in no heap, or right before `sink`. */
  due: number;
  /** Where it is in the heap, which keeps this up to date; −1 when it is in none. */
  heapIndex: number;
}

/**
 * A binary heap that knows what is due first. Entries know their place, so that any of them can be
 * taken out without a search.
 */
export class DueHeap<E extends Due> {
  readonly #entries: E[] = [];

  /** What is due first. */
  get first(): E | undefined {
    return this.#entries[0];
  }

  add(entry: E): void {
    entry.heapIndex = this.#entries.length;
    this.#entries.push(entry);
    this.#siftUp(entry);
  }

  /** Takes out an entry that is in the heap. */
  remove(entry: E): void {
    const last = this.#entries.pop()!;
    if (last !== entry) {
      this.#place(last, entry.heapIndex);
      this.#siftUp(last);
      this.sink(last);
    }
    entry.heapIndex = -1;
  }

  /** Finds the place of an entry that is now due later. */
  sink(entry: E): void {
    for (;;) {
      const left = this.#entries[2 * entry.heapIndex + 1];
      const right = this.#entries[2 * entry.heapIndex + 2];
      const child = right && right.due < left!.due ? right : left;
      if (!child || child.due >= entry.due) return;
      this.#swap(entry, child);
    }
  }

  #siftUp(entry: E): void {
    while (entry.heapIndex > 0) {
      const parent = this.#entries[(entry.heapIndex - 1) >> 1]!;
      if (parent.due <= entry.due) return;
      this.#swap(entry, parent);
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
