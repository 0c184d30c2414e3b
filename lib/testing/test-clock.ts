import { Clock } from '../core/clock.js';
import { InvalidOptionError } from '../core/errors.js';

/** A clock that stands still until it is told to move on. */
export class TestClock extends Clock {
  #nowUs = 1_000_000;

  override nowUs(): number {
    return this.#nowUs;
  }

  /** Moves on by so many milliseconds. */
  advance(ms: number): void {
    const us = Math.round(ms * 1_000);
    if (!Number.isSafeInteger(us) || us < 0) {
      throw new InvalidOptionError('ms', 'a number of milliseconds from 0 up', ms);
    }
    this.#nowUs += us;
  }
}
