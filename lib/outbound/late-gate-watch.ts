import type { GateListener, GateWatch } from '../core/gate.js';
import type { LimitStore } from '../core/limit-store.js';

/** Watches gates from the first call on: who makes none needs no connection to hear of them. */
export class LateGateWatch implements GateWatch {
  #watch: GateWatch | undefined;
  #listener: GateListener = () => undefined;
  #onLive: () => void = () => undefined;

  constructor(private readonly store: LimitStore) {}

  get isLive(): boolean {
    return this.#watch?.isLive ?? false;
  }

  get gaps(): number {
    return this.#watch?.gaps ?? 0;
  }

  /** Who is told, also when something may have been missed; to be named before it starts. */
  listen(listener: GateListener, onLive: () => void): void {
    this.#listener = listener;
    this.#onLive = onLive;
  }

  start(): void {
    this.#watch ??= this.store.watchGates(
      (key, state) => this.#listener(key, state),
      () => this.#onLive(),
    );
  }

  close(): void {
    this.#watch?.close();
  }
}
