/** Samples after which it is looked how long they took. */
const SAMPLES = 256;
/** So many samples are not taken faster: 4 000 a second cost nothing that could be measured. */
const SHORTEST_MS = 64;
const MAX_INTERVAL = 1_024;

/**
 * Chooses what is looked at more closely: everything while there is little, one in many under load.
 * By chance, or whoever comes in step would be seen always or never.
 */
export class Sampler {
  /** How many each one that is chosen stands for. */
  weight = 1;
  #left = 1;
  #samples = 0;
  #startedMs: number;

  constructor(
    private readonly nowMs: () => number,
    private readonly random: () => number,
  ) {
    this.#startedMs = nowMs();
  }

  /** Whether this one is chosen; `weight` tells how many it stands for until `next` is called. */
  get isDue(): boolean {
    return --this.#left <= 0;
  }

  /** Draws how many are passed over. Called for every one that was chosen, after it was counted. */
  next(): void {
    if (++this.#samples === SAMPLES) this.#adjust();
    // From 1 to twice the weight less 1: the weight on average.
    this.#left = 1 + Math.floor(this.random() * (2 * this.weight - 1));
  }

  #adjust(): void {
    const tookMs = this.nowMs() - this.#startedMs;
    if (tookMs < SHORTEST_MS) this.weight = Math.min(MAX_INTERVAL, this.weight * 2);
    else if (tookMs > 2 * SHORTEST_MS) this.weight = Math.max(1, this.weight / 2);
    this.#startedMs += tookMs;
    this.#samples = 0;
  }
}
