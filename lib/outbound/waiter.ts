import type { Due } from '../core/due-heap.js';
import type { Permit } from './permit.js';
import type { Turn } from './turn.js';

/** What somebody waits for, and whom to tell what came of it. */
export interface WaiterParts {
  readonly tokens: number;
  readonly arrivedMs: number;
  /** When it is too late; Infinity for never. Who does not wait at all names the time of arrival. */
  readonly expiresMs: number;
  readonly resolve: (permit: Permit) => void;
  readonly reject: (error: unknown) => void;
}

/** Somebody who waits for a turn. */
export class Waiter implements Due {
  readonly tokens: number;
  readonly arrivedMs: number;
  /** When it is too late; Infinity for never, and for who waits for nothing but the answer. */
  readonly expiresMs: number;
  /** Whether it takes a turn only if there is one at once: it waits until that is known. */
  readonly isHasty: boolean;
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
    const { tokens, arrivedMs, expiresMs } = parts;
    this.tokens = tokens;
    this.arrivedMs = arrivedMs;
    this.isHasty = expiresMs <= arrivedMs;
    this.expiresMs = this.isHasty ? Number.POSITIVE_INFINITY : expiresMs;
    this.due = this.expiresMs;
  }

  /** The longest that it would wait from now on. */
  patienceMs(nowMs: number): number {
    return this.isHasty ? 0 : this.expiresMs - nowMs;
  }

  /** Whether a turn is of its cost, and in time. */
  canUse({ tokens, atMs, decision }: Turn): boolean {
    if (tokens !== this.tokens) return false;
    if (this.isHasty) return decision.waitUs === 0 || atMs <= this.arrivedMs;
    return atMs <= this.expiresMs;
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
