import type { Lease } from '../core/lease.js';

/** The right to make one call. Release it when the call is over; `run` and `fetch` do. */
export class Permit implements AsyncDisposable {
  /** Whether this is the call that finds out if a cooldown is really over. */
  readonly isProbe: boolean;

  /** @internal Made by the limiter. */
  constructor(
    /** The host that may be called. */
    readonly domain: string,
    /** Milliseconds that it was waited for. */
    readonly waitedMs: number,
    /** The plan of turns that it belongs to: tells whether the call began before a cooldown. */
    readonly generation: number | undefined,
    /** @internal Until when the others wait for what it finds; undefined when it is no probe. */
    readonly probeUntilUs: number | undefined,
    private readonly lease: Lease | undefined,
  ) {
    this.isProbe = probeUntilUs !== undefined;
  }

  /** Whether a slot of `maxConcurrent` is held until it is released. */
  get holdsSlot(): boolean {
    return this.lease !== undefined;
  }

  /** Lets the next one go where only so many may be under way at once. Safe to call twice. */
  async release(): Promise<void> {
    await this.lease?.release();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }
}
