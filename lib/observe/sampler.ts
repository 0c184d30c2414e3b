/** Samples after which it is looked how long they took. */
const SAMPLES = 256;
/** So many samples are not taken faster: 1 000 a second cost nothing that could be measured. */
const SHORTEST_MS = 256;
const MAX_INTERVAL = 8_192;

/**
 * Chooses what is looked at more closely: everything while there is little, one in many under load.
 * By chance, or whoever comes in step would be seen always or never.
 */
export class Sampler {
  /** How many each one that is chosen stands for. */
  weight = 1;
  #samples = 0;
  #startedMs: number;

  constructor(
    private readonly nowMs: () => number,
    private readonly random: () => number,
  ) {
    this.#startedMs = nowMs();
  }

  /** How many to count until the next is chosen. Called once for every one that was chosen. */
  next(): number {
    if (++this.#samples === SAMPLES) this.#adjust();
    // From 1 to twice the weight less 1: the weight on average.
    return 1 + Math.floor(this.random() * (2 * this.weight - 1));
  }

  #adjust(): void {
    const tookMs = this.nowMs() - this.#startedMs;
    if (tookMs < SHORTEST_MS) this.weight = Math.min(MAX_INTERVAL, this.weight * 2);
    else if (tookMs > 2 * SHORTEST_MS) this.weight = Math.max(1, this.weight / 2);
    this.#startedMs += tookMs;
    this.#samples = 0;
  }
}
