import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { OutboundStage } from '../support/outbound-stage.js';

/** Looking at it takes a moment, and its timers are a little early, as those of Node are. */
class RealisticTicker {
  #now = 1_000_000;
  readonly #timers = new Map<() => void, number>();
  readonly clock = { nowUs: () => Math.floor(this.#now * 1_000) };
  get timers() {
    return this.#timers.size;
  }
  nowMs() {
    return (this.#now += 0.000_3);
  }
  wakeIn(ms: number, wake: () => void) {
    this.#timers.set(wake, this.#now + ms);
    return () => void this.#timers.delete(wake);
  }
  fireEarlyBy(ms: number) {
    const [[wake, at]] = [...this.#timers] as [[() => void, number]];
    this.#timers.delete(wake);
    this.#now = at - ms;
    wake();
  }
}

it.each(Array.from({ length: 12 }, (_, i) => i * 0.000_3))(
  'still has a timer after one that came %d ms early',
  async (early) => {
    const ticker = new RealisticTicker();
    const store = new MemoryStore(ticker.clock);
    const options = {
      ticker: ticker as never,
      store,
      default: { requestsPerSecond: 1_000, burstCapacity: 100, maxConcurrent: 1 },
    };
    const [a, b] = [new OutboundStage(options), new OutboundStage(options)]; // two "processes"
    const held = await a.limiter.wait('x.test');
    let got = false;
    void b.limiter.wait('x.test').then(() => (got = true));
    await nextTurn();
    expect(ticker.timers).toBe(1); // tries again in 100 ms
    ticker.fireEarlyBy(early);
    await nextTurn();
    await held.release();
    for (let i = 0; i < 3 && ticker.timers > 0; i++) {
      ticker.fireEarlyBy(0);
      await nextTurn();
    }
    expect(got).toBe(true);
  },
);
