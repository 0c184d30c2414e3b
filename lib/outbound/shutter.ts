/** What is known about when it is worth asking for turns again. */
export class Shutter {
  #untilMs = 0;
  #isSure = false;
  #scouts = false;

  /** Until when asking is known to be in vain; 0 when it is not. */
  get untilMs(): number {
    return this.#untilMs;
  }

  /** When it is worth asking again; Infinity when it is already, so that nothing is waited for. */
  get opensMs(): number {
    return this.#untilMs > 0 ? this.#untilMs : Number.POSITIVE_INFINITY;
  }

  /** Whether that is sure, so that whoever cannot wait so long need not. */
  get isSure(): boolean {
    return this.#isSure;
  }

  /** Whether one goes ahead to find out before all the others ask. */
  get scouts(): boolean {
    return this.#scouts;
  }

  shut(untilMs: number, isSure: boolean): void {
    this.#untilMs = untilMs;
    this.#isSure = isSure;
    this.#scouts = true;
  }

  open(): void {
    this.#untilMs = 0;
    this.#scouts = false;
  }

  /** Whoever went ahead is back. */
  endScouting(): void {
    this.#scouts = false;
  }
}
