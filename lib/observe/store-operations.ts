import type { StoreMessage } from './channels.js';
import type { Topic } from './topics.js';
import type { OperationStats } from './stats-snapshot.js';
import { TimeRecord } from './time-stats.js';

/** Pairs of what was asked and what went wrong that are told apart. */
const MAX_KINDS = 50;
const OTHER = 'other';

interface Kind {
  readonly operation: string;
  readonly error: string;
  readonly times: TimeRecord;
}

/** Keeps how long the store took to answer. */
export class StoreOperations {
  readonly #kinds = new Map<string, Kind>();

  constructor(private readonly topic: Topic<StoreMessage>) {}

  /** A round trip is over; `error` is what went wrong, in a word. */
  onOperation(operation: string, durationMs: number, error?: string): void {
    this.#of(operation, error ?? '').times.record(durationMs);
    if (!this.topic.isHeard) return;
    const failure = error === undefined ? {} : { error };
    this.topic.publish({ event: 'operation', operation, durationMs, ...failure });
  }

  snapshot(): OperationStats[] {
    return [...this.#kinds.values()].map(({ operation, error, times }) => ({
      operation,
      error,
      times: times.snapshot(),
    }));
  }

  reset(): void {
    this.#kinds.clear();
  }

  #of(operation: string, error: string): Kind {
    const id = `${operation} ${error}`;
    const known = this.#kinds.get(id);
    if (known) return known;
    if (this.#kinds.size >= MAX_KINDS && error !== OTHER) return this.#of(operation, OTHER);
    const kind = { operation, error, times: new TimeRecord() };
    this.#kinds.set(id, kind);
    return kind;
  }
}
