/** Which costs there are among waiters and turns, and how many have each. */
export class CostTally {
  readonly #counts = new Map<number, number>();

  /** Whether it matters who gets which turn. */
  get isMixed(): boolean {
    return this.#counts.size > 1;
  }

  add(tokens: number): void {
    this.#counts.set(tokens, (this.#counts.get(tokens) ?? 0) + 1);
  }

  remove(tokens: number): void {
    const count = this.#counts.get(tokens)! - 1;
    if (count > 0) this.#counts.set(tokens, count);
    else this.#counts.delete(tokens);
  }
}
