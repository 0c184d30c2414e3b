import type { DomainStore } from './domain-store.js';
import type { Ticker } from './ticker.js';
import type { Turn } from './turn.js';
import type { TurnBook } from './turn-book.js';
import type { WaiterLine } from './waiter-line.js';

/** Turns that are given back at a time: more would keep the store from answering others. */
const MOST_AT_ONCE = 512;
/** Looking at all turns takes no more than a small part of the time. */
const BETWEEN_LOOKS_MS = 10;
const PER_TURN_MS = 0.02;

/** What giving back hangs on. */
export interface SurplusParts {
  readonly store: DomainStore;
  readonly line: WaiterLine;
  readonly turns: TurnBook;
  readonly ticker: Ticker;
  /** Called when the last of many turns was given back. */
  readonly onDone: () => void;
}

/** Gives back the turns that nobody in the line can use. */
export class Surplus {
  #isUnderWay = false;
  #nextLookMs = 0;
  #isPutOff = false;

  constructor(private readonly parts: SurplusParts) {}

  /** Whether turns are still being given back, behind which nothing is to be booked yet. */
  get isUnderWay(): boolean {
    return this.#isUnderWay;
  }

  /** When turns are looked at again; Infinity when that is not waited for. */
  get nextMs(): number {
    return this.#isPutOff ? this.#nextLookMs : Number.POSITIVE_INFINITY;
  }

  /** Gives back what there is; false when others may not be booked yet. */
  giveBack(): boolean {
    if (this.#isUnderWay) return false;
    const surplus = this.#take();
    if (!surplus) return false;
    if (surplus.length > 0) void this.#giveBack(surplus);
    return !this.#isUnderWay;
  }

  /** The latest first; undefined when it is too soon to look for them. */
  #take(): Turn[] | undefined {
    const { line, turns, ticker } = this.parts;
    this.#isPutOff = false;
    if (!line.isOutOfStep) return turns.takeFrom(line.withTurn);
    const nowMs = ticker.nowMs();
    this.#isPutOff = this.#nextLookMs > nowMs;
    if (this.#isPutOff) return undefined;
    const surplus = turns.takeUnused(line.first);
    line.fallIntoStep();
    this.#nextLookMs = nowMs + BETWEEN_LOOKS_MS + surplus.length * PER_TURN_MS;
    return surplus;
  }

  /** The first of them at once, so that they arrive before whatever is asked next. */
  async #giveBack(surplus: readonly Turn[]): Promise<void> {
    this.#isUnderWay = surplus.length > MOST_AT_ONCE;
    for (let from = 0; from < surplus.length; from += MOST_AT_ONCE) {
      await this.#giveBackSome(surplus.slice(from, from + MOST_AT_ONCE));
    }
    if (surplus.length <= MOST_AT_ONCE) return;
    this.#isUnderWay = false;
    this.parts.onDone();
  }

  async #giveBackSome(some: readonly Turn[]): Promise<void> {
    const { store, turns } = this.parts;
    try {
      const wastedUs = await turns.giveBack(some, store.plan);
      if (wastedUs > 0) await store.replan(wastedUs, false);
    } catch {
      // What cannot be given back comes back by itself, in time.
    }
  }
}
