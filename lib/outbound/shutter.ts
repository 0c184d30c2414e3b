/** Why it is not worth asking: the domain cools down, or all slots are taken. */
export type ShutReason = 'cooldown' | 'concurrency';

/** A time in which nobody gets a turn. */
export interface Shut {
  readonly untilMs: number;
  /** Whether it is sure, so that whoever cannot wait so long need not. */
  readonly isSure: boolean;
  readonly reason: ShutReason;
}

/** What is known about when it is worth asking for turns again, and for how many. */
export class Shutter {
  #shut: Shut | undefined;
  #untilMs = 0;
  #most = Number.POSITIVE_INFINITY;

  /** Until when asking is known to be in vain; 0 when it is not. */
  get untilMs(): number {
    return this.#untilMs;
  }

  /** When it is worth asking again; Infinity when it is already, so that nothing is waited for. */
  get opensMs(): number {
    return this.#untilMs > 0 ? this.#untilMs : Number.POSITIVE_INFINITY;
  }

  /** Why it was last not worth asking; undefined once everybody who asked got a turn. */
  get shut(): Shut | undefined {
    return this.#shut;
  }

  /** How many ask together: one goes ahead to find out, then twice as many as before. */
  get most(): number {
    return this.#most;
  }

  close(shut: Shut): void {
    this.#shut = shut;
    this.#untilMs = shut.untilMs;
    this.#most = 1;
  }

  /** It may be worth asking, which the first finds out. */
  open(): void {
    this.#untilMs = 0;
  }

  /** Those who asked are back. What was heard meanwhile is newer. */
  widen(nowMs: number): void {
    if (this.#untilMs > nowMs) return;
    this.#shut = undefined;
    this.#most *= 2;
  }
}
