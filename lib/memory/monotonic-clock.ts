import { performance } from 'node:perf_hooks';
import { Clock } from '../core/clock.js';

/** The time since the process started: it never jumps, whatever happens to the date. */
export class MonotonicClock extends Clock {
  override nowUs(): number {
    return Math.floor(performance.now() * 1_000);
  }
}
