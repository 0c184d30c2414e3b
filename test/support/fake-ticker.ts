import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Ticker } from '../../lib/outbound/ticker.js';
import { FakeClock } from './fake-clock.js';

interface Timer {
  readonly atMs: number;
  readonly wake: () => void;
}

/** Time that stands still until it is moved, for those who wait and for the store alike. */
export class FakeTicker implements Ticker {
  readonly clock = new FakeClock(1_000_000_000);
  readonly #timers = new Set<Timer>();

  /** `settle` waits for everything that happens without time passing. */
  constructor(private readonly settle: () => Promise<unknown> = () => nextTurn()) {}

  /** Timers that are running. */
  get timers(): number {
    return this.#timers.size;
  }

  nowMs(): number {
    return this.clock.nowUs() / 1_000;
  }

  wakeIn(milliseconds: number, wake: () => void): () => void {
    const timer = { atMs: this.nowMs() + Math.ceil(milliseconds), wake };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Lets time pass; everything that is due on the way happens at its time. */
  async advance(milliseconds: number): Promise<void> {
    const endMs = this.nowMs() + milliseconds;
    await this.settle();
    for (;;) {
      const next = [...this.#timers].sort((one, other) => one.atMs - other.atMs)[0];
      if (!next || next.atMs > endMs) break;
      this.#timers.delete(next);
      this.clock.advanceMs(Math.max(0, next.atMs - this.nowMs()));
      next.wake();
      await this.settle();
    }
    this.clock.advanceMs(endMs - this.nowMs());
    await this.settle();
  }
}
