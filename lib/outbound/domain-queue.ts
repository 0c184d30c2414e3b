import { whenAll } from '../core/awaitable.js';
import type { RateLimitError } from '../core/errors.js';
import type { GateState } from '../core/gate.js';
import { DENY_ALL } from '../core/plan.js';
import { Alarm } from './alarm.js';
import { Booking } from './booking.js';
import { CostTally } from './cost-tally.js';
import type { Answered, DomainStore } from './domain-store.js';
import type { HandOutEnd } from './hand-out.js';
import { HandOut } from './hand-out.js';
import { OutboundDeniedError, WaitAbortedError } from './outbound-errors.js';
import type { Permit } from './permit.js';
import type { PermitMaker } from './permit-maker.js';
import type { QueueTies } from './queue-ties.js';
import { Surplus } from './surplus.js';
import type { Turn } from './turn.js';
import { isDoubtful } from './turn.js';
import { TurnBook } from './turn-book.js';
import { Waiter } from './waiter.js';
import { WaiterLine } from './waiter-line.js';

/** How somebody waits. */
export interface QueueWait {
  readonly arrivedMs: number;
  /** When it is too late; Infinity for never. */
  readonly expiresMs: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Those who wait for one domain in this process, in order of arrival, and the turns that were booked
 * for them. A turn goes to the first who is still there: when somebody leaves, all behind move up
 * and the last turn is given back. One timer, whoever waits.
 */
export class DomainQueue {
  readonly #line: WaiterLine;
  readonly #turns: TurnBook;
  readonly #handOut: HandOut;
  readonly #surplus: Surplus;
  readonly #booking: Booking;
  readonly #alarm: Alarm;
  #isTrimming = false;
  #isVerifying = false;

  constructor(
    private readonly store: DomainStore,
    permits: PermitMaker,
    private readonly ties: QueueTies,
  ) {
    const { ticker } = ties;
    const costs = new CostTally();
    const turns = (this.#turns = new TurnBook(store, costs));
    const line = (this.#line = new WaiterLine(turns, costs));
    const onLate = (waiter: Waiter) => this.#booking.expire(waiter);
    this.#handOut = new HandOut({ line, turns, permits, ticker, onLate });
    const onDone = () => {
      this.#trim();
      this.#arm();
    };
    this.#surplus = new Surplus({ store, line, turns, ticker, onDone });
    this.#alarm = new Alarm(ticker, () => this.#wake());
    this.#booking = new Booking({
      ...{ store, line, turns, permits, ties },
      onAnswered: () => {
        this.#trim();
        this.#dispatch();
      },
      onVain: () => this.#arm(),
    });
  }

  /** How many wait. */
  get waiting(): number {
    return this.#line.size;
  }

  /** How long the first of them has waited. */
  get oldestWaitMs(): number {
    const { first } = this.#line;
    return first ? this.ties.ticker.nowMs() - first.arrivedMs : 0;
  }

  /** Whether it can be forgotten. */
  get isIdle(): boolean {
    const isBusy = this.#booking.isUnderWay || this.#surplus.isUnderWay;
    return this.#line.size === 0 && this.#turns.size === 0 && !isBusy;
  }

  /** Waits for a turn, by an answer if there is one already. */
  wait(tokens: number, options: QueueWait, answered?: Answered): Promise<Permit> {
    const { arrivedMs, expiresMs, signal } = options;
    return new Promise((resolve, reject) => {
      const waiter = new Waiter({ tokens, arrivedMs, expiresMs, resolve, reject });
      if (signal) this.#listen(signal, waiter);
      this.#line.push(waiter);
      if (answered) this.#booking.settle([waiter], [answered], this.#turns.generation, arrivedMs);
      else this.#trim();
      this.#arm();
    });
  }

  /** There are other limits from now on, also for those who wait already. */
  async heedLimits(): Promise<void> {
    if (this.isIdle) return;
    const { name, limits } = this.store;
    if (limits.slots?.plan.quota === DENY_ALL) {
      return this.#failAll(() => new OutboundDeniedError(name));
    }
    await this.store.replan(0, true);
  }

  /** Hears about the gate. */
  hear(state: GateState): void {
    if (state.generation > this.#turns.generation) this.#turns.adopt(state);
    if (state.cooldownUs > 0) this.#booking.shut(state.cooldownUs / 1_000, true, 'cooldown');
    else if (state.changed) this.#booking.open();
    this.#trim();
    this.#arm();
  }

  /** Ends all waits: the application is closing. */
  close(reason: unknown): void {
    this.#failAll(() => new WaitAbortedError(this.store.name, reason));
  }

  #failAll(newError: () => RateLimitError): void {
    for (const waiter of this.#line.takeAll()) waiter.fail(newError());
    this.#trim();
    this.#arm();
  }

  #listen(signal: AbortSignal, waiter: Waiter): void {
    waiter.stopListening = this.ties.aborts.listen(signal, (reason) => this.#abort(waiter, reason));
  }

  #abort(waiter: Waiter, reason: unknown): void {
    this.#line.remove(waiter);
    waiter.fail(new WaitAbortedError(this.store.name, reason));
    if (this.#turns.size === 0) return this.#arm();
    if (this.#isTrimming) return;
    this.#isTrimming = true;
    // Many may leave at once; together they cost one look.
    setImmediate(() => {
      this.#isTrimming = false;
      this.#trim();
      this.#arm();
    });
  }

  #wake(): void {
    this.#dispatch();
    this.#trim();
    this.#arm();
  }

  /** Hands turns that have come to those who are first, unless they may be void. */
  #dispatch(): void {
    const { ticker, watch, holder } = this.ties;
    const { heartbeat } = this.store;
    const { vouched } = this.#turns;
    const wasAway = !heartbeat.isFresh(ticker.nowMs());
    if (holder !== undefined) this.#turns.dropLate(ticker.nowMs(), wasAway);
    const isInDoubt = (turn: Turn, nowMs: number) =>
      !heartbeat.isFresh(nowMs) || isDoubtful(turn, vouched, watch, nowMs);
    // The store is asked once; until then turns wait, though nobody for longer than it may.
    if (!this.#isVerifying && this.#giveTurns(isInDoubt) === 'doubtful') this.#verify();
    for (const waiter of this.#line.takeExpired(ticker.nowMs())) this.#booking.expire(waiter);
    const isFitting = this.#turns.size === this.#line.withTurn && !this.#line.isOutOfStep;
    if (!isFitting) this.#trim();
    this.#arm();
  }

  #giveTurns(isInDoubt?: (turn: Turn, nowMs: number) => boolean): HandOutEnd {
    const end = this.#handOut.run(this.store.plan, isInDoubt);
    // A turn that was booked for another cost is given back, and one that fits is booked.
    if (end === 'unfit') {
      this.#line.shift();
      this.#trim();
    }
    return end;
  }

  /** News may have been missed: is the plan still the one by which these turns were booked? */
  #verify(): void {
    this.#isVerifying = true;
    const { ticker, watch, onShut } = this.ties;
    const vouched = { atMs: ticker.nowMs(), gaps: watch.gaps };
    // Without anybody to ask, a turn that was booked is good.
    const goOn = () => {
      this.#giveTurns();
      this.#trim();
      this.#arm();
    };
    whenAll(
      [this.store.look()],
      ([state]) => {
        this.#isVerifying = false;
        this.#turns.vouchForAll(vouched);
        this.store.heartbeat.learn(vouched.atMs);
        this.hear(state!);
        // Whoever was away meanwhile knows nothing again.
        if (this.store.heartbeat.isFresh(ticker.nowMs())) goOn();
        else this.#dispatch();
        if (state!.cooldownUs > 0) onShut(this.store.name, state!);
      },
      () => {
        this.#isVerifying = false;
        goOn();
      },
    );
  }

  /** Gives back turns that nobody here can use, then books others for whoever has none. */
  #trim(): void {
    if (this.#booking.isUnderWay) return;
    if (this.#surplus.giveBack()) this.#booking.ask();
  }

  #arm(): void {
    this.store.heartbeat.heed(this.#turns.size > 0 || this.#booking.isUnderWay);
    this.#alarm.setTo(this.#nextMs());
  }

  #nextMs(): number {
    const line = this.#line;
    if (line.size === 0) return Number.POSITIVE_INFINITY;
    const nextTurnMs = Math.max(this.#nextTurnMs(), this.#handOut.pacedMs);
    return Math.min(nextTurnMs, line.soonestExpiryMs, this.#nextBookingMs());
  }

  /** A turn that does not fit is not waited for, nor one that is being looked at. */
  #nextTurnMs(): number {
    const turn = this.#turns.first;
    const isUsable = this.#line.withTurn > 0 && turn?.tokens === this.#line.first!.tokens;
    return isUsable && !this.#isVerifying ? turn.atMs : Number.POSITIVE_INFINITY;
  }

  #nextBookingMs(): number {
    if (this.#booking.isUnderWay || this.#surplus.isUnderWay) return Number.POSITIVE_INFINITY;
    return this.#line.isOutOfStep ? this.#surplus.nextMs : this.#booking.nextMs;
  }
}
