import type { Turn } from './turn.js';

/** Turns that have gone are only counted until there are so many of them. */
const MOST_GONE = 1_000;

/** Turns in order of time. Those at both ends cost the same however many there are. */
export class TurnRow {
  #turns: (Turn | undefined)[] = [];
  /** How many have gone at the front. */
  #gone = 0;

  get size(): number {
    return this.#turns.length - this.#gone;
  }

  at(index: number): Turn | undefined {
    return this.#turns[this.#gone + index];
  }

  /** Puts a turn in its place, behind those of the same time; tells whether that is the end. */
  add(turn: Turn): boolean {
    const last = this.at(this.size - 1);
    if (!last || last.atMs <= turn.atMs) {
      this.#turns.push(turn);
      return true;
    }
    this.#turns.splice(this.#placeOf(turn.atMs), 0, turn);
    return false;
  }

  takeFirst(): Turn | undefined {
    const first = this.at(0);
    if (!first) return undefined;
    this.#turns[this.#gone++] = undefined;
    if (this.#gone > MOST_GONE && this.#gone > this.size) {
      this.#turns = this.#turns.slice(this.#gone);
      this.#gone = 0;
    }
    return first;
  }

  /** Takes out all from there on. */
  takeFrom(index: number): Turn[] {
    return this.#turns.splice(this.#gone + index) as Turn[];
  }

  #placeOf(atMs: number): number {
    let [low, high] = [this.#gone, this.#turns.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#turns[middle]!.atMs <= atMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
