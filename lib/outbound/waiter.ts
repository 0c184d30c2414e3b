import type { Permit } from './permit.js';

interface Promised {
  readonly resolve: (permit: Permit) => void;
  readonly reject: (error: Error) => void;
}

/** Somebody who waits for a turn. */
export class Waiter {
  #signal: AbortSignal | undefined;
  #onAbort: (() => void) | undefined;

  constructor(
    readonly tokens: number,
    readonly arrivedMs: number,
    readonly expiresMs: number,
    private readonly promised: Promised,
  ) {}

  listen(signal: AbortSignal | undefined, onAbort: () => void): void {
    if (!signal) return;
    this.#signal = signal;
    this.#onAbort = onAbort;
    signal.addEventListener('abort', onAbort, { once: true });
  }

  resolve(permit: Permit): void {
    this.#leave();
    this.promised.resolve(permit);
  }

  reject(error: unknown): void {
    this.#leave();
    this.promised.reject(error as Error);
  }

  /** A signal may outlive thousands of waits. */
  #leave(): void {
    if (this.#onAbort) this.#signal?.removeEventListener('abort', this.#onAbort);
  }
}
