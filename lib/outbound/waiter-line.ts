import { DueHeap } from '../core/due-heap.js';
import type { Waiter } from './waiter.js';

/**
 * Those who wait, in order of arrival. There may be thousands: whoever comes, leaves or is too late
 * costs the same however many the others are. Turns are for those in front, so it is told with every
 * question how many turns there are, and tells of those behind them.
 */
export class WaiterLine {
  #first: Waiter | undefined;
  #last: Waiter | undefined;
  #size = 0;
  #arrivals = 0;
  /** How many turns there were when it was last asked, and the first of those behind them. */
  #turns = 0;
  #firstWithout: Waiter | undefined;
  /** Of those without a turn: who has one goes then, however late that is. */
  readonly #expiries = new DueHeap<Waiter>();

  get size(): number {
    return this.#size;
  }

  get first(): Waiter | undefined {
    return this.#first;
  }

  push(waiter: Waiter): void {
    waiter.number = this.#arrivals++;
    waiter.isInLine = true;
    waiter.ahead = this.#last;
    if (this.#last) this.#last.behind = waiter;
    else this.#first = waiter;
    this.#last = waiter;
    this.#size++;
    this.#firstWithout ??= waiter;
    this.#watchExpiry(waiter);
  }

  /** Takes somebody out; false when that one has left already. */
  remove(waiter: Waiter): boolean {
    if (!waiter.isInLine) return false;
    waiter.isInLine = false;
    if (waiter.hasTurn) this.#turns--;
    else this.#forgetExpiry(waiter);
    if (waiter === this.#firstWithout) this.#firstWithout = waiter.behind;
    if (waiter.ahead) waiter.ahead.behind = waiter.behind;
    else this.#first = waiter.behind;
    if (waiter.behind) waiter.behind.ahead = waiter.ahead;
    else this.#last = waiter.ahead;
    this.#size--;
    return true;
  }

  /** Takes out everybody. */
  takeAll(): Waiter[] {
    return this.#takeWhile(() => this.#first);
  }

  /** Those behind so many turns, the first of them up to a number. */
  without(turns: number, most: number): Waiter[] {
    this.#allot(turns);
    const found: Waiter[] = [];
    let waiter = this.#firstWithout;
    for (; waiter && found.length < most; waiter = waiter.behind) found.push(waiter);
    return found;
  }

  /** When the first of those behind so many turns is too late; Infinity for never. */
  soonestExpiryMs(turns: number): number {
    this.#allot(turns);
    return this.#expiries.first?.expiresMs ?? Number.POSITIVE_INFINITY;
  }

  /** Takes out those behind so many turns who are too late, in order of arrival. */
  takeExpired(turns: number, isTooLate: (expiresMs: number) => boolean): Waiter[] {
    this.#allot(turns);
    const taken = this.#takeWhile(() => {
      const { first } = this.#expiries;
      return first && isTooLate(first.expiresMs) ? first : undefined;
    });
    return taken.sort((one, other) => one.number - other.number);
  }

  #takeWhile(next: () => Waiter | undefined): Waiter[] {
    const taken: Waiter[] = [];
    for (let waiter = next(); waiter; waiter = next()) {
      this.remove(waiter);
      taken.push(waiter);
    }
    return taken;
  }

  /** Step by step from where it was: turns come and go a few at a time. */
  #allot(turns: number): void {
    const wanted = Math.min(turns, this.#size);
    while (this.#turns < wanted) {
      const waiter = this.#firstWithout!;
      this.#firstWithout = waiter.behind;
      this.#forgetExpiry(waiter);
      waiter.hasTurn = true;
      this.#turns++;
    }
    while (this.#turns > wanted) {
      const waiter = this.#firstWithout ? this.#firstWithout.ahead! : this.#last!;
      this.#firstWithout = waiter;
      this.#watchExpiry(waiter);
      waiter.hasTurn = false;
      this.#turns--;
    }
  }

  #watchExpiry(waiter: Waiter): void {
    if (waiter.expiresMs !== Number.POSITIVE_INFINITY) this.#expiries.add(waiter);
  }

  #forgetExpiry(waiter: Waiter): void {
    if (waiter.heapIndex !== -1) this.#expiries.remove(waiter);
  }
}
