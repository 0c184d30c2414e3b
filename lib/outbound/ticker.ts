import { performance } from 'node:perf_hooks';

/** Time as waiting sees it: how late it is, and being woken. */
export interface Ticker {
  /** Milliseconds since some moment, never going back. */
  nowMs(): number;
  /** Calls back once, not before that time has passed. Returns what calls it off. */
  wakeIn(milliseconds: number, wake: () => void): () => void;
}

/** The longest that a timer of Node can run. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The time of this process. Its timers keep the process alive: somebody waits for them. */
export class SystemTicker implements Ticker {
  nowMs(): number {
    return performance.now();
  }

  wakeIn(milliseconds: number, wake: () => void): () => void {
    // Rounded up, and whoever is woken looks at the time again: timers can be a millisecond early.
    const timer = setTimeout(wake, Math.min(Math.ceil(milliseconds), MAX_TIMER_MS));
    return () => clearTimeout(timer);
  }
}
