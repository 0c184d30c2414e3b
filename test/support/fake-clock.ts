import { Clock } from '../../lib/core/clock.js';

/** A clock that stands still until it is told to move. */
export class FakeClock extends Clock {
  #nowUs: number;

  constructor(startUs = 1_000_003) {
    super();
    this.#nowUs = startUs;
  }

  override nowUs(): number {
    return this.#nowUs;
  }

  /** Moves on by whole microseconds, never backwards. */
  advanceUs(us: number): void {
    if (!Number.isSafeInteger(us) || us < 0) {
      throw new Error(`Time moves on by whole microseconds from 0 up, got ${us}.`);
    }
    this.#nowUs += us;
  }

  /** Moves on by milliseconds. */
  advanceMs(ms: number): void {
    this.advanceUs(ms * 1_000);
  }
}
