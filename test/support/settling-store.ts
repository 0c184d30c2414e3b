import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Awaitable } from '../../lib/core/awaitable.js';
import type { Gate, GateChange, GateListener, GateState, GateWatch } from '../../lib/core/gate.js';
import type { Decision, HeldLease, Inquiry, Limit, Return } from '../../lib/core/limit-store.js';
import { LimitStore } from '../../lib/core/limit-store.js';
import { until } from './redis-servers.js';

/**
 * A store that can be waited for: it knows what it was asked and has not answered, and what it will
 * have to tell those who watch.
 */
export class SettlingStore extends LimitStore {
  #underWay = 0;
  /** News that each watcher should have heard, beyond those that it has. */
  readonly #news = new Map<GateListener, number>();
  readonly #watches: GateWatch[] = [];

  constructor(private readonly store: LimitStore) {
    super();
  }

  /** Waits until nothing is under way any more, nor what followed from it. */
  async settle(): Promise<void> {
    do {
      await nextTurn();
      await until('the store', () => this.#isQuiet());
      await nextTurn();
    } while (!this.#isQuiet());
  }

  override decide(inquiry: Inquiry): Promise<Decision> {
    return this.#follow(this.store.decide(inquiry));
  }

  override giveBack(returned: Return): Promise<boolean> {
    return this.#follow(this.store.giveBack(returned));
  }

  override renew(leases: readonly HeldLease[]): Promise<readonly boolean[]> {
    return this.#follow(this.store.renew(leases));
  }

  override reset(limits: readonly Limit[]): Promise<void> {
    return this.#follow(this.store.reset(limits));
  }

  override changeGate(change: GateChange): Promise<GateState> {
    return this.#follow(this.#changeGate(change));
  }

  override lookAtGate(gate: Gate): Promise<GateState> {
    return this.#follow(this.store.lookAtGate(gate));
  }

  override watchGates(listener: GateListener, onLive?: () => void): GateWatch {
    this.#news.set(listener, 0);
    const watch = this.store.watchGates((key, state) => {
      listener(key, state);
      this.#news.set(listener, this.#news.get(listener)! - 1);
    }, onLive);
    this.#watches.push(watch);
    return watch;
  }

  /** Stops watching; the store itself stays open. */
  override close(): void {
    for (const watch of this.#watches) watch.close();
  }

  /** Not before everybody listens, or news would be waited for that nobody hears. */
  async #changeGate(change: GateChange): Promise<GateState> {
    await until('the watches', () => this.#watches.every(({ isLive }) => isLive));
    const state = await this.store.changeGate(change);
    if (state.changed || change.kind === 'block') {
      for (const [listener, missing] of this.#news) this.#news.set(listener, missing + 1);
    }
    return state;
  }

  #isQuiet(): boolean {
    return this.#underWay === 0 && [...this.#news.values()].every((missing) => missing === 0);
  }

  async #follow<T>(answer: Awaitable<T>): Promise<T> {
    this.#underWay++;
    try {
      return await answer;
    } finally {
      this.#underWay--;
    }
  }
}
