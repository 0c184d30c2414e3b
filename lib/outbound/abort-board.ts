/** Told when a signal is aborted, and why. */
type AbortListener = (reason: unknown) => void;

/** Those who wait by one signal, and what was registered with it for all of them. */
interface Board {
  readonly listeners: Set<AbortListener>;
  readonly tell: () => void;
}

/**
 * Listens once to each signal, however many wait by it and for whatever domains: Node warns of a leak
 * when one signal has more than ten listeners.
 */
export class AbortBoard {
  readonly #boards = new Map<AbortSignal, Board>();

  /** Calls the listener, which is given once, when the signal is aborted. Returns what calls it off. */
  listen(signal: AbortSignal, listener: AbortListener): () => void {
    const { listeners } = this.#boards.get(signal) ?? this.#open(signal);
    listeners.add(listener);
    return () => this.#remove(signal, listener);
  }

  #open(signal: AbortSignal): Board {
    const board = { listeners: new Set<AbortListener>(), tell: () => this.#tell(signal) };
    this.#boards.set(signal, board);
    signal.addEventListener('abort', board.tell, { once: true });
    return board;
  }

  /** A signal may outlive thousands of waits. */
  #remove(signal: AbortSignal, listener: AbortListener): void {
    const board = this.#boards.get(signal);
    if (!board?.listeners.delete(listener) || board.listeners.size > 0) return;
    signal.removeEventListener('abort', board.tell);
    this.#boards.delete(signal);
  }

  #tell(signal: AbortSignal): void {
    const board = this.#boards.get(signal);
    this.#boards.delete(signal);
    for (const listener of board?.listeners ?? []) listener(signal.reason);
  }
}
