import type { Ticker } from './ticker.js';

const NEVER_MS = Number.POSITIVE_INFINITY;

/** One timer for the next thing to happen. */
export class Alarm {
  #stop: (() => void) | undefined;
  #atMs = NEVER_MS;

  constructor(
    private readonly ticker: Ticker,
    private readonly wake: () => void,
  ) {}

  /** Rings at that time instead of when it was to; Infinity for never. */
  setTo(atMs: number): void {
    if (atMs === this.#atMs) return;
    this.#stop?.();
    this.#atMs = atMs;
    this.#stop = undefined;
    if (atMs === NEVER_MS) return;
    this.#stop = this.ticker.wakeIn(Math.max(0, atMs - this.ticker.nowMs()), () => {
      this.#atMs = NEVER_MS;
      this.wake();
    });
  }
}
