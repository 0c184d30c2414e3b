import { reasonOf } from './last-error.js';

/** Hears about round trips. */
export interface OperationListener {
  /** One is over; `error` is what went wrong, in a few words. */
  onOperation(operation: string, durationMs: number, error?: string): void;
}

/** Measures round trips. One that carries many decisions is one. */
export class RoundTripTimes {
  constructor(
    private readonly listener: OperationListener,
    private readonly nowMs: () => number,
  ) {}

  /** The answer, when it has come and its time was told. */
  async time<T>(operation: string, answer: Promise<T>): Promise<T> {
    const startedMs = this.nowMs();
    try {
      const value = await answer;
      this.listener.onOperation(operation, this.nowMs() - startedMs);
      return value;
    } catch (error) {
      this.listener.onOperation(operation, this.nowMs() - startedMs, reasonOf(error));
      throw error;
    }
  }
}
