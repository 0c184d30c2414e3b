import type { Lease } from '../../core/lease.js';
import { reportLostRelease } from '../release-when-done.js';

/** The slots of one request: held until everything that works on the request has ended. */
export class SlotHold {
  #waits = 0;
  #isOver = false;

  constructor(private readonly lease: Lease) {}

  /** Whether the slots were given back, because all that was waited for had ended. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Keeps the slots until the function that it returns is called. */
  wait(): () => void {
    this.#waits++;
    let hasEnded = false;
    return () => {
      if (hasEnded) return;
      hasEnded = true;
      this.#waits--;
      if (this.#waits === 0) this.end();
    };
  }

  /** Gives the slots back now. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.lease.release().catch(reportLostRelease);
  }
}
