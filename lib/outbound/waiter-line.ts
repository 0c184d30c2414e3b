import { DueHeap } from '../core/due-heap.js';
import type { CostTally } from './cost-tally.js';
import type { Turn } from './turn.js';
import type { Waiter } from './waiter.js';

/** The turns that a line goes by, the next one first. */
export interface Turns {
  at(index: number): Turn | undefined;
  /** Whether some were dropped since this was last asked: those behind them changed their places. */
  noticeDropped(): boolean;
}

/**
 * Those who wait, in order of arrival: the first has the first turn, and so on, as long as each can use
 * its own. There may be many thousands: whoever comes, leaves or is too late costs the same however
 * many the others are. Somebody who leaves gives those behind earlier turns, never later ones.
 */
export class WaiterLine {
  #first: Waiter | undefined;
  #last: Waiter | undefined;
  #size = 0;
  #arrivals = 0;
  /** How many have turns, and the first of those who have none. */
  #withTurn = 0;
  #firstWithout: Waiter | undefined;
  readonly #expiriesWithTurn = new DueHeap<Waiter>();
  readonly #expiries = new DueHeap<Waiter>();
  readonly #hasty = new Set<Waiter>();
  #isOutOfStep = false;

  constructor(
    private readonly turns: Turns,
    private readonly costs: CostTally,
  ) {}

  get size(): number {
    return this.#size;
  }

  get first(): Waiter | undefined {
    return this.#first;
  }

  /** How many have turns. */
  get withTurn(): number {
    this.#match();
    return this.#withTurn;
  }

  /** How many have none. */
  get wanting(): number {
    return this.#size - this.withTurn;
  }

  /** Whether somebody is here and has a turn. */
  hasTurn(waiter: Waiter): boolean {
    this.#match();
    return waiter.isInLine && waiter.hasTurn;
  }

  /** Whether somebody may have the turn of somebody who costs more or less. */
  get isOutOfStep(): boolean {
    return this.#isOutOfStep;
  }

  /** When the first is too late; Infinity for never. */
  get soonestExpiryMs(): number {
    const one = this.#expiries.first?.expiresMs ?? Number.POSITIVE_INFINITY;
    return Math.min(one, this.#expiriesWithTurn.first?.expiresMs ?? one);
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
    this.costs.add(waiter.tokens);
    if (waiter.isHasty) this.#hasty.add(waiter);
    this.#watchExpiry(waiter);
  }

  /** Takes somebody out, whose turn goes to the next; false when that one has left already. */
  remove(waiter: Waiter): boolean {
    if (!waiter.isInLine) return false;
    if (waiter.hasTurn) this.shift();
    this.#unlink(waiter);
    return true;
  }

  /** Takes out the first together with its turn. */
  takeFirst(): void {
    this.#unlink(this.#first!);
  }

  /** Takes out everybody. */
  takeAll(): Waiter[] {
    return this.#takeWhile(() => this.#first);
  }

  /** Turns have changed their places otherwise than at the ends. */
  shift(): void {
    this.#isOutOfStep ||= this.costs.isMixed;
  }

  /** Who has a turn that is of another cost or too late has none, nor have those behind. */
  fallIntoStep(): void {
    this.#isOutOfStep = false;
    let fitting = 0;
    for (let waiter = this.#first; fitting < this.#withTurn; waiter = waiter!.behind) {
      const turn = this.turns.at(fitting);
      if (!turn || !waiter!.canUse(turn)) break;
      fitting++;
    }
    while (this.#withTurn > fitting) this.#takeTurnFromLast();
  }

  /** Those who have no turn, the first of them up to a number. */
  without(most: number): Waiter[] {
    this.#match();
    const found: Waiter[] = [];
    let waiter = this.#firstWithout;
    for (; waiter && found.length < most; waiter = waiter.behind) found.push(waiter);
    return found;
  }

  /** Takes out all whose time is over, in order of arrival. */
  takeExpired(nowMs: number): Waiter[] {
    const taken = [this.#expiries, this.#expiriesWithTurn].flatMap((expiries) =>
      this.#takeDue(expiries, (expiresMs) => expiresMs <= nowMs),
    );
    return inOrder(taken);
  }

  /** Takes out those who have no turn and cannot wait until then, in order of arrival. */
  takeImpatient(untilMs: number): Waiter[] {
    this.#match();
    const late = this.#takeDue(this.#expiries, (expiresMs) => expiresMs < untilMs);
    return inOrder([...late, ...this.takeHasty()]);
  }

  /** Takes out those who have no turn and do not wait for one. */
  takeHasty(): Waiter[] {
    if (this.#hasty.size === 0) return [];
    this.#match();
    const hasty = [...this.#hasty].filter(({ hasTurn }) => !hasTurn);
    for (const waiter of hasty) this.remove(waiter);
    return hasty;
  }

  #takeDue(expiries: DueHeap<Waiter>, isDue: (expiresMs: number) => boolean): Waiter[] {
    return this.#takeWhile(() => {
      const { first } = expiries;
      return first && isDue(first.expiresMs) ? first : undefined;
    });
  }

  #takeWhile(next: () => Waiter | undefined): Waiter[] {
    const taken: Waiter[] = [];
    for (let waiter = next(); waiter; waiter = next()) {
      this.remove(waiter);
      taken.push(waiter);
    }
    return taken;
  }

  #unlink(waiter: Waiter): void {
    waiter.isInLine = false;
    this.#forgetExpiry(waiter);
    this.#hasty.delete(waiter);
    this.costs.remove(waiter.tokens);
    if (waiter.hasTurn) this.#withTurn--;
    if (waiter === this.#firstWithout) this.#firstWithout = waiter.behind;
    if (waiter.ahead) waiter.ahead.behind = waiter.behind;
    else this.#first = waiter.behind;
    if (waiter.behind) waiter.behind.ahead = waiter.ahead;
    else this.#last = waiter.ahead;
    this.#size--;
  }

  /** Goes on from where it was: turns come and go a few at a time. */
  #match(): void {
    if (this.turns.noticeDropped()) this.fallIntoStep();
    for (let next = this.#firstWithout; next; next = this.#firstWithout) {
      const turn = this.turns.at(this.#withTurn);
      if (!turn || !next.canUse(turn)) return;
      this.#forgetExpiry(next);
      this.#firstWithout = next.behind;
      this.#withTurn++;
      next.hasTurn = true;
      this.#watchExpiry(next);
    }
  }

  #takeTurnFromLast(): void {
    const waiter = this.#firstWithout ? this.#firstWithout.ahead! : this.#last!;
    this.#forgetExpiry(waiter);
    this.#firstWithout = waiter;
    this.#withTurn--;
    waiter.hasTurn = false;
    this.#watchExpiry(waiter);
  }

  #watchExpiry(waiter: Waiter): void {
    if (waiter.expiresMs !== Number.POSITIVE_INFINITY) this.#expiriesOf(waiter).add(waiter);
  }

  #forgetExpiry(waiter: Waiter): void {
    if (waiter.heapIndex !== -1) this.#expiriesOf(waiter).remove(waiter);
  }

  #expiriesOf({ hasTurn }: Waiter): DueHeap<Waiter> {
    return hasTurn ? this.#expiriesWithTurn : this.#expiries;
  }
}

function inOrder(waiters: Waiter[]): Waiter[] {
  return waiters.sort((one, other) => one.number - other.number);
}
