import type { LeaseTies } from './held-slots.js';
import { Lease } from './lease.js';
import type { Decision, HeldLease } from './limit-store.js';

/**
 * The answer to `reserve`: a turn that was booked, and when it comes. The tokens are spent already;
 * cancelling gives them back unless others have booked behind it meanwhile.
 */
export class Reservation extends Lease {
  /** Whole milliseconds to wait before acting: 0 at once. Meaningless when it was not allowed. */
  readonly waitMs: number;
  #booked: Decision | undefined;
  readonly #leaseId: string;
  readonly #ties: LeaseTies;

  /** @internal Made by the limiter. */
  constructor(decision: Decision, leaseId: string, held: HeldLease | undefined, ties: LeaseTies) {
    super(decision, held, ties);
    this.#booked = decision.allowed ? decision : undefined;
    this.waitMs = decision.allowed ? Math.ceil(decision.waitUs / 1_000) : 0;
    this.#leaseId = leaseId;
    this.#ties = ties;
  }

  /** Gives the turn back, slots included. Safe to call more than once. */
  async cancel(): Promise<void> {
    const decision = this.#booked;
    this.#booked = undefined;
    // Tokens that were settled are accounted for; slots come back all the same.
    if (!decision || !this.closeBill()) return this.release();
    this.letGo();
    await this.#ties.store.giveBack({ kind: 'cancel', decision, leaseId: this.#leaseId });
  }
}
