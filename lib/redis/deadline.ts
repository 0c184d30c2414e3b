import { outsideRequests } from '../core/outside-requests.js';

/** Someone who waits for an answer. */
interface Waiter {
  readonly expiresMs: number;
  expire: (() => void) | undefined;
}

/** The answer did not come in time. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/**
 * Bounds how long answers are waited for. All wait equally long, so the first to ask is the first
 * to give up, and one timer serves everybody.
 */
export class Deadline {
  readonly #waiters: Waiter[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly milliseconds: number,
    private readonly nowMs: () => number,
  ) {}

  /** The answer, or a DeadlineError when it takes too long. A late answer is dropped silently. */
  within<T>(answer: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const waiter: Waiter = {
        expiresMs: this.nowMs() + this.milliseconds,
        expire: () => reject(new DeadlineError(`no answer within ${this.milliseconds} ms`)),
      };
      this.#waiters.push(waiter);
      if (this.#timer === undefined) this.#startTimer(this.milliseconds);
      const settle = () => (waiter.expire = undefined);
      answer.finally(settle).then(resolve, reject);
    });
  }

  #startTimer(milliseconds: number): void {
    this.#timer = outsideRequests(() =>
      // When this process itself was busy, the answers of a healthy server wait to be read behind
      // the timers: they get their turn before anybody gives up.
      setTimeout(() => setImmediate(() => this.#expire()), Math.max(1, milliseconds)).unref(),
    );
  }

  #expire(): void {
    const nowMs = this.nowMs();
    const firstWaiting = this.#waiters.findIndex(
      ({ expire, expiresMs }) => expire !== undefined && expiresMs > nowMs,
    );
    const done = firstWaiting === -1 ? this.#waiters.length : firstWaiting;
    for (const { expire } of this.#waiters.splice(0, done)) expire?.();
    const next = this.#waiters[0];
    if (next) this.#startTimer(next.expiresMs - nowMs);
    else this.#timer = undefined;
  }
}
