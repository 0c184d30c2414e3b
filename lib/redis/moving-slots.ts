/** How long a slot counts as moving after a command for several of its keys was refused. */
const MOVING_MS = 1_000;
/** Single keys are asked for a little longer than that, and must not travel together meanwhile. */
const APART_MS = 2 * MOVING_MS;

/**
 * Remembers which slots of a cluster are moving, so that not every call has to find out. Bounded by
 * the number of slots.
 */
export class MovingSlots {
  /** When each was last found to be moving. */
  readonly #foundMs = new Map<number, number>();

  constructor(private readonly nowMs: () => number) {}

  get isEmpty(): boolean {
    return this.#foundMs.size === 0;
  }

  add(slot: number): void {
    this.#foundMs.set(slot, this.nowMs());
  }

  /** Whether its keys have to be asked for one by one. */
  has(slot: number): boolean {
    return this.#ageMs(slot) < MOVING_MS;
  }

  /** Whether one message may be about one of its keys only. */
  keepsApart(slot: number): boolean {
    const ageMs = this.#ageMs(slot);
    if (ageMs >= APART_MS) this.#foundMs.delete(slot);
    return ageMs < APART_MS;
  }

  #ageMs(slot: number): number {
    const foundMs = this.#foundMs.get(slot);
    return foundMs === undefined ? Infinity : this.nowMs() - foundMs;
  }
}
