/** Something that occurs often. */
export interface HeavyHitter {
  readonly key: string;
  /** Where it occurred last. */
  readonly policy: string;
  /** How often, at most. */
  readonly count: number;
  /** How much of that may be others'. */
  readonly error: number;
}

interface Entry {
  key: string;
  policy: string;
  count: number;
  error: number;
}

/**
 * Finds the keys that occur most among any number of them, in the space of a hundred: the
 * space-saving sketch of Metwally, Agrawal and El Abbadi. Whatever makes up more than a hundredth of
 * all is among them, and no count is too low.
 */
export class HeavyHitters {
  readonly #entries = new Map<string, Entry>();

  constructor(private readonly capacity = 100) {}

  /** Counts a key that occurred `weight` times. */
  add(key: string, policy: string, weight: number): void {
    const known = this.#entries.get(key);
    if (known) {
      known.count += weight;
      known.policy = policy;
    } else if (this.#entries.size < this.capacity) {
      this.#entries.set(key, { key, policy, count: weight, error: 0 });
    } else {
      this.#replaceRarest(key, policy, weight);
    }
  }

  /** The first of them, those that occurred most often first. */
  top(count: number): readonly HeavyHitter[] {
    return [...this.#entries.values()]
      .sort((one, other) => other.count - one.count)
      .slice(0, count)
      .map((entry) => ({ ...entry }));
  }

  clear(): void {
    this.#entries.clear();
  }

  /** Takes the place of the rarest, and its count: it may have been there before. */
  #replaceRarest(key: string, policy: string, weight: number): void {
    let rarest: Entry | undefined;
    for (const entry of this.#entries.values()) {
      if (rarest === undefined || entry.count < rarest.count) rarest = entry;
    }
    const entry = rarest!;
    this.#entries.delete(entry.key);
    entry.error = entry.count;
    entry.count += weight;
    entry.key = key;
    entry.policy = policy;
    this.#entries.set(key, entry);
  }
}
