/** Failures in a row after which a slot is not asked for any more. */
const FAILURES_TO_BLAME = 3;
/** Failures of a slot that nobody has asked for in this time are forgotten. */
const FORGET_MS = 10_000;
/** Stands for more slots than one. */
const SEVERAL = -1;

/**
 * Tells failures of a server from failures of one of its slots. A slot that is moving is answered for
 * by another server, which may be the one that fails. Bounded by the number of slots.
 */
export class FailingSlots {
  /** For each server the slot that has failed since its last answer. */
  readonly #ofNodes = new Map<string, number>();
  /** Failures in a row of a slot, the longest ago first. */
  readonly #failures = new Map<number, { readonly count: number; readonly atMs: number }>();

  constructor(private readonly nowMs: () => number) {}

  get size(): number {
    return this.#ofNodes.size + this.#failures.size;
  }

  /**
   * Notes a failure and tells whose it is: the server's, as soon as another slot of it has failed since
   * its last answer; the slot's, when it has failed alone for some times; undefined before that.
   */
  blame(node: string, slot: number): 'node' | 'slot' | undefined {
    const known = this.#ofNodes.get(node) ?? slot;
    this.#ofNodes.set(node, known === slot ? slot : SEVERAL);
    if (known !== slot) return 'node';
    const count = (this.#failures.get(slot)?.count ?? 0) + 1;
    this.#failures.delete(slot);
    if (count === FAILURES_TO_BLAME) return 'slot';
    this.#failures.set(slot, { count, atMs: this.nowMs() });
    return undefined;
  }

  succeed(node: string, slot: number): void {
    this.#ofNodes.delete(node);
    this.#failures.delete(slot);
    const [oldest] = this.#failures;
    if (oldest && this.nowMs() - oldest[1].atMs > FORGET_MS) this.#failures.delete(oldest[0]);
  }
}
