import type { HealthListener } from './breaker.js';

/** What listeners are told instead of the name of a server. */
const NAME = 'some slots';
/** A slot that nobody has asked for in this time is no longer waited for. */
const FORGET_MS = 10_000;

/**
 * Slots of a cluster that no server answers for, although the servers are well. They need no breaker:
 * the refusal comes at once, and the first answer shows that the trouble is over. All of them are one
 * state to the listener, or a lost server would be thousands of lines. Bounded by the number of slots.
 */
export class TroubledSlots {
  /** When each was last refused, the longest ago first. */
  readonly #refusedMs = new Map<number, number>();
  #sinceMs = 0;
  #decidedWithout = 0;

  constructor(
    private readonly listener: HealthListener,
    private readonly nowMs: () => number,
  ) {}

  get size(): number {
    return this.#refusedMs.size;
  }

  fail(slot: number, reason: string): void {
    if (this.size === 0) {
      this.#sinceMs = this.nowMs();
      this.#decidedWithout = 0;
      this.listener.onDown(NAME, reason);
    }
    this.#decidedWithout++;
    this.#refusedMs.delete(slot);
    this.#refusedMs.set(slot, this.nowMs());
  }

  /** A slot was answered for. */
  succeed(slot: number): void {
    if (this.size === 0) return;
    this.#refusedMs.delete(slot);
    this.#forgetOldest();
    if (this.size > 0) return;
    this.listener.onUp(NAME, this.nowMs() - this.#sinceMs, this.#decidedWithout);
  }

  #forgetOldest(): void {
    const [oldest] = this.#refusedMs;
    if (oldest && this.nowMs() - oldest[1] > FORGET_MS) this.#refusedMs.delete(oldest[0]);
  }
}
