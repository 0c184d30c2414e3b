import type { Due } from '../core/due-heap.js';
import { DueHeap } from '../core/due-heap.js';

/** Something that ends at a time. It is due, in microseconds, when the heap believes that it ends. */
export interface Expiring extends Due {
  /** When it really ends, as things stand. The heap asks when it matters. */
  expiresUs(nowUs: number): number;
}

/**
 * How many entries one search may move back that were used since they were filed: 0.3 ms among
 * 100 000. Without a bound, the first new key after a busy hour would pay for all of them.
 */
const MAX_REFILED = 1_000;

/**
 * Finds what has expired. Entries move to a later end with every use; instead of being sifted each
 * time, an entry is only filed again when it comes to the top with a stale end.
 */
export class ExpiryHeap<E extends Expiring> {
  readonly #heap = new DueHeap<E>();

  add(entry: E, nowUs: number): void {
    entry.due = entry.expiresUs(nowUs);
    this.#heap.add(entry);
  }

  remove(entry: E): void {
    this.#heap.remove(entry);
  }

  /** Whether a search would find something to do. */
  isDue(byUs: number): boolean {
    const { first } = this.#heap;
    return first !== undefined && first.due <= byUs;
  }

  /** An entry that has ended by then, if the search finds one. It stays in the heap. */
  findExpired(byUs: number, maxRefiled = MAX_REFILED): E | undefined {
    for (let refiled = 0; refiled <= maxRefiled; refiled++) {
      const { first } = this.#heap;
      if (!first || first.due > byUs) return undefined;
      const expiresUs = first.expiresUs(byUs);
      if (expiresUs <= byUs) return first;
      first.due = expiresUs;
      this.#heap.sink(first);
    }
    return undefined;
  }
}
