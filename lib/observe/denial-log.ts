import { NEVER } from '../core/counter.js';
import { maskKey } from './mask-key.js';
import type { DenialStats } from './stats-snapshot.js';

interface Denial {
  atMs: number;
  policy: string;
  key: string;
  waitUs: number;
}

/** Remembers the last denials. Every place is used again, so that a flood of them makes no garbage. */
export class DenialLog {
  readonly #denials: Denial[] = [];
  #next = 0;

  constructor(private readonly capacity = 50) {}

  add(atMs: number, policy: string, key: string, waitUs: number): void {
    const denial = this.#denials[this.#next];
    if (denial) {
      denial.atMs = atMs;
      denial.policy = policy;
      denial.key = key;
      denial.waitUs = waitUs;
    } else this.#denials.push({ atMs, policy, key, waitUs });
    this.#next = (this.#next + 1) % this.capacity;
  }

  /** The latest first, with keys that may be shown. */
  latest(): readonly DenialStats[] {
    const { length } = this.#denials;
    return Array.from({ length }, (_, i) => {
      const { atMs, policy, key, waitUs } = this.#denials[(this.#next - 1 - i + length) % length]!;
      const retryAfterMs = waitUs === NEVER ? null : Math.ceil(waitUs / 1_000);
      return { atMs, policy, key: maskKey(key), retryAfterMs };
    });
  }

  clear(): void {
    this.#denials.length = 0;
    this.#next = 0;
  }
}
