import type { GateListener, GateWatch } from '../core/gate.js';
import type { LimitStore } from '../core/limit-store.js';

/** Watches gates from the first call on: who makes none needs no connection to hear of them. */
export class LateGateWatch implements GateWatch {
  #watch: GateWatch | undefined;
  #listener: GateListener = () => undefined;

  constructor(private readonly store: LimitStore) {}

  get isLive(): boolean {
    return this.#watch?.isLive ?? false;
  }

  get gaps(): number {
    return this.#watch?.gaps ?? 0;
  }

  /** Who is told; to be named before it starts. */
  listen(listener: GateListener): void {
    this.#listener = listener;
  }

  start(): void {
    this.#watch ??= this.store.watchGates((key, state) => this.#listener(key, state));
  }

  close(): void {
    this.#watch?.close();
  }
}
