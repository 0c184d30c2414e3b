import type { Permit } from './permit.js';

/** Somebody who waits for a turn. */
export interface Waiter {
  readonly tokens: number;
  readonly arrivedMs: number;
  readonly expiresMs: number;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (permit: Permit) => void;
  readonly reject: (error: unknown) => void;
}
