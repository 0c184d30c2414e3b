import type { Permit } from './permit.js';

/** How to wait. */
export interface WaitOptions {
  /**
   * Tokens that the call costs.
   * @default 1
   */
  readonly tokens?: number | undefined;
  /**
   * Ends the wait; the turn is given back.
   * @default none
   */
  readonly signal?: AbortSignal | null | undefined;
  /**
   * Longest acceptable wait in milliseconds: no permit comes later, and a wait that is sure to be
   * longer fails at once. 0 takes a turn only if there is one at once.
   * @default that of the module, which is none
   */
  readonly timeoutMs?: number | undefined;
}

/** Whoever can be asked for a turn. */
export interface Waits {
  /** Waits until a call may be made. */
  wait(domain: string, options: WaitOptions): Promise<Permit>;
}
