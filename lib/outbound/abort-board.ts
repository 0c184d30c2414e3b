/**
 * Listens once to each signal, however many wait by it: Node warns of a leak when one signal has more
 * than ten listeners.
 */
export class AbortBoard<Waiting> {
  readonly #boards = new Map<AbortSignal, { waiting: Set<Waiting>; listener: () => void }>();

  constructor(private readonly onAbort: (waiting: Waiting, reason: unknown) => void) {}

  add(signal: AbortSignal, waiting: Waiting): void {
    let board = this.#boards.get(signal);
    if (!board) {
      board = { waiting: new Set(), listener: () => this.#abort(signal) };
      this.#boards.set(signal, board);
      signal.addEventListener('abort', board.listener, { once: true });
    }
    board.waiting.add(waiting);
  }

  /** A signal may outlive thousands of waits. */
  remove(signal: AbortSignal, waiting: Waiting): void {
    const board = this.#boards.get(signal);
    if (!board?.waiting.delete(waiting) || board.waiting.size > 0) return;
    signal.removeEventListener('abort', board.listener);
    this.#boards.delete(signal);
  }

  #abort(signal: AbortSignal): void {
    const board = this.#boards.get(signal);
    this.#boards.delete(signal);
    for (const waiting of board?.waiting ?? []) this.onAbort(waiting, signal.reason);
  }
}
