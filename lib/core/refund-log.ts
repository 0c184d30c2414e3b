/** A refund counts in the same part of the log as those before it for this part of a refill. */
const PARTS_OF_REFILL = 8;

/**
 * What has come back to a bucket since a moment. Two sums that began at different times stand for
 * all refunds: the answer may be too high, never too low.
 */
export class RefundLog {
  #lastUs = 0;
  #sinceUs = 0;
  #sum = 0;
  #olderSinceUs = 0;
  #olderSum = 0;

  /** At least the tokens that came back at that time or later; Infinity when it is too long ago. */
  since(atUs: number): number {
    if (atUs > this.#lastUs) return 0;
    if (atUs >= this.#sinceUs) return this.#sum;
    return atUs >= this.#olderSinceUs ? this.#olderSum : Number.POSITIVE_INFINITY;
  }

  /**
   * Notes tokens that came back after they had been held for a while. A sum lasts for twice that
   * time at least, so that one of the two covers charges that are held about as long.
   */
  add(tokens: number, heldUs: number, refillUs: number, nowUs: number): void {
    if (nowUs - this.#sinceUs > Math.max(2 * heldUs, refillUs / PARTS_OF_REFILL)) {
      this.#olderSinceUs = this.#sinceUs;
      this.#olderSum = this.#sum;
      this.#sinceUs = nowUs;
      this.#sum = 0;
    }
    this.#sum += tokens;
    this.#olderSum += tokens;
    this.#lastUs = nowUs;
  }
}
