import { setImmediate as nextTurn } from 'node:timers/promises';
import { FakeTicker } from './fake-ticker.js';

interface Timer {
  readonly atUs: number;
  readonly wake: () => void;
}

/**
 * Time that goes on by a microsecond whenever it is looked at, and wakes up to twenty of them early:
 * real time passes between two looks, and timers of Node may be early.
 */
export class RacingTicker extends FakeTicker {
  readonly #running = new Set<Timer>();
  #earlyUs = 0;

  override get timers(): number {
    return this.#running.size;
  }

  override nowMs(): number {
    this.clock.advanceUs(1);
    return super.nowMs();
  }

  override wakeIn(milliseconds: number, wake: () => void): () => void {
    this.#earlyUs = (this.#earlyUs + 1) % 20;
    const waitUs = Math.max(0, Math.round(milliseconds * 1_000) - this.#earlyUs);
    const timer = { atUs: this.clock.nowUs() + waitUs, wake };
    this.#running.add(timer);
    return () => this.#running.delete(timer);
  }

  override async advance(milliseconds: number): Promise<void> {
    const endUs = this.clock.nowUs() + Math.round(milliseconds * 1_000);
    await nextTurn();
    for (let timer = this.#next(endUs); timer; timer = this.#next(endUs)) {
      this.#running.delete(timer);
      this.#goOnTo(timer.atUs);
      timer.wake();
      await nextTurn();
    }
    this.#goOnTo(endUs);
  }

  #next(endUs: number): Timer | undefined {
    const due = [...this.#running].filter(({ atUs }) => atUs <= endUs);
    return due.sort((one, other) => one.atUs - other.atUs)[0];
  }

  #goOnTo(atUs: number): void {
    this.clock.advanceUs(Math.max(0, atUs - this.clock.nowUs()));
  }
}
