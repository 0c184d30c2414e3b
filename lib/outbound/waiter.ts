import type { Due } from '../core/due-heap.js';
import type { Permit } from './permit.js';

/** What somebody waits for, and whom to tell what came of it. */
export interface WaiterParts {
  readonly tokens: number;
  readonly arrivedMs: number;
  /** When it is too late; Infinity for never. */
  readonly expiresMs: number;
  readonly resolve: (permit: Permit) => void;
  readonly reject: (error: unknown) => void;
}

/** Somebody who waits for a turn. */
export class Waiter implements Due {
  readonly tokens: number;
  readonly arrivedMs: number;
  readonly expiresMs: number;
  /** Called off when the wait is over; undefined where no signal can end it. */
  stopListening: (() => void) | undefined;

  // What follows belongs to the line that it stands in.
  readonly due: number;
  heapIndex = -1;
  number = 0;
  isInLine = false;
  hasTurn = false;
  ahead: Waiter | undefined;
  behind: Waiter | undefined;

  constructor(private readonly parts: WaiterParts) {
    this.tokens = parts.tokens;
    this.arrivedMs = parts.arrivedMs;
    this.expiresMs = parts.expiresMs;
    this.due = parts.expiresMs;
  }

  /** It is its turn. */
  go(permit: Permit): void {
    this.stopListening?.();
    this.parts.resolve(permit);
  }

  /** It waited in vain. */
  fail(error: unknown): void {
    this.stopListening?.();
    this.parts.reject(error);
  }
}
