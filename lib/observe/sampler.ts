/** So many samples a second cost nothing that could be measured. */
const SAMPLES_PER_MS = 1;
/** Samples that may come at once after a pause. */
const BURST = 4_096;
/** Samples after which it is looked whether choosing fewer was enough. */
const STEP = 256;
const MAX_WEIGHT = 8_192;

/**
 * Chooses what is looked at more closely: everything while there is little, one in many under load.
 * By chance, or what comes in step would be seen always or never.
 */
export class Sampler {
  /** How many each one that is chosen stands for. */
  weight = 1;
  /** Whether any was left out since the flag was last taken down. */
  hasSkipped = false;
  #left = BURST;
  #lastMs: number;

  constructor(
    private readonly nowMs: () => number,
    private readonly random: () => number,
  ) {
    this.#lastMs = nowMs();
  }

  /** How many to count until the next is chosen. Called once for every one that was chosen. */
  next(): number {
    this.#adjust();
    if (this.weight === 1) return 1;
    this.hasSkipped = true;
    // From 1 to twice the weight less 1: the weight on average.
    return 1 + Math.floor(this.random() * (2 * this.weight - 1));
  }

  #adjust(): void {
    const nowMs = this.nowMs();
    this.#left += (nowMs - this.#lastMs) * SAMPLES_PER_MS - 1;
    this.#lastMs = nowMs;
    if (this.#left < 0) {
      this.weight = Math.min(MAX_WEIGHT, this.weight * 2);
      this.#left = STEP;
    } else if (this.#left >= BURST) {
      this.weight = Math.max(1, this.weight / 2);
      // A weight that was lowered is kept for a while, unless there is next to nothing.
      this.#left = BURST - 1;
    }
  }
}
