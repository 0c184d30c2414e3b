/** The last ones count most: each for this part of the average. */
const SHARE_OF_LAST = 1 / 8;

/** How long the slots of a domain were held lately, in this process. */
export class SlotTimes {
  #averageMs: number | undefined;

  record(heldMs: number): void {
    this.#averageMs ??= heldMs;
    this.#averageMs += (heldMs - this.#averageMs) * SHARE_OF_LAST;
  }

  /**
   * In about how many milliseconds there is a slot for who comes behind so many; undefined while none
   * has come back.
   */
  waitMs(waiting: number, slots: number): number | undefined {
    if (this.#averageMs === undefined) return undefined;
    return Math.max(1, Math.ceil(this.#averageMs * Math.max(1, (waiting + 1) / slots)));
  }
}
