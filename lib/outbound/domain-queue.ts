import { whenAll } from '../core/awaitable.js';
import type { RateLimitError } from '../core/errors.js';
import type { GateState } from '../core/gate.js';
import { DENY_ALL } from '../core/plan.js';
import { Alarm } from './alarm.js';
import { Booking } from './booking.js';
import type { Answered, DomainStore } from './domain-store.js';
import type { HandOutEnd } from './hand-out.js';
import { HandOut } from './hand-out.js';
import { OutboundDeniedError, WaitAbortedError } from './outbound-errors.js';
import type { Permit } from './permit.js';
import type { PermitMaker } from './permit-maker.js';
import type { QueueTies } from './queue-ties.js';
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
  readonly #line = new WaiterLine();
  readonly #turns: TurnBook;
  readonly #handOut: HandOut;
  readonly #booking: Booking;
  readonly #alarm: Alarm;
  #isTrimming = false;
  #isVerifying = false;

  constructor(
    private readonly store: DomainStore,
    permits: PermitMaker,
    private readonly ties: QueueTies,
  ) {
    this.#turns = new TurnBook(store);
    this.#handOut = new HandOut(this.#line, this.#turns, permits);
    this.#alarm = new Alarm(ties.ticker, () => this.#wake());
    this.#booking = new Booking({
      ...{ store, line: this.#line, turns: this.#turns, ties },
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
    return this.#line.size === 0 && this.#turns.size === 0 && !this.#booking.isUnderWay;
  }

  /** Waits for a turn, by an answer if there is one already. */
  wait(tokens: number, options: QueueWait, answered?: Answered): Promise<Permit> {
    const { arrivedMs, expiresMs, signal } = options;
    return new Promise((resolve, reject) => {
      const waiter = new Waiter({ tokens, arrivedMs, expiresMs, resolve, reject });
      if (signal) this.#listen(signal, waiter);
      this.#line.push(waiter);
      if (answered) this.#booking.settle([waiter], [answered], this.#turns.generation, arrivedMs);
      else this.#booking.ask();
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
    if (state.cooldownUs > 0) this.#booking.shut(state.cooldownUs / 1_000, true);
    else if (state.changed) this.#booking.open();
    this.#booking.ask();
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
    this.#booking.ask();
    this.#arm();
  }

  /** Hands turns that have come to those who are first, unless they may be void. */
  #dispatch(): void {
    const { ticker, watch, holder } = this.ties;
    const nowMs = ticker.nowMs();
    const isFresh = this.store.heartbeat.isFresh(nowMs);
    if (holder !== undefined) this.#turns.dropLate(nowMs, !isFresh);
    const end = this.#giveTurns(nowMs, (turn) => !isFresh || isDoubtful(turn, watch, nowMs));
    if (end === 'doubtful') return this.#verify();
    this.#booking.expire(nowMs);
    this.#arm();
  }

  /** Without anybody to ask, a turn that was booked is good. */
  #dispatchVerified(): void {
    this.#giveTurns(this.ties.ticker.nowMs());
    this.#booking.ask();
    this.#arm();
  }

  #giveTurns(nowMs: number, isInDoubt?: (turn: Turn) => boolean): HandOutEnd {
    const end = this.#handOut.run(this.store.plan, nowMs, isInDoubt);
    // A turn that was booked for another cost is given back, and one that fits is booked.
    if (end === 'unfit') this.#trim();
    return end;
  }

  /** News may have been missed: is the plan still the one by which these turns were booked? */
  #verify(): void {
    if (this.#isVerifying) return;
    this.#isVerifying = true;
    const { watch, onShut, ticker } = this.ties;
    const { gaps } = watch;
    const askedMs = ticker.nowMs();
    whenAll(
      [this.store.look()],
      ([state]) => {
        this.#isVerifying = false;
        this.#turns.vouchForAll(gaps);
        this.store.heartbeat.learn(askedMs);
        this.hear(state!);
        // Whoever was away meanwhile knows nothing again.
        if (this.store.heartbeat.isFresh(ticker.nowMs())) this.#dispatchVerified();
        else this.#dispatch();
        if (state!.cooldownUs > 0) onShut(this.store.name, state!);
      },
      () => {
        this.#isVerifying = false;
        this.#dispatchVerified();
      },
    );
  }

  /** Gives back turns that nobody here can use, and books others for whoever has none then. */
  #trim(): void {
    if (this.#booking.isUnderWay) return;
    const surplus = this.#turns.takeSurplus(this.#line);
    if (surplus.length > 0) void this.#giveBack(surplus);
    this.#booking.ask();
  }

  async #giveBack(surplus: readonly Turn[]): Promise<void> {
    try {
      const wastedUs = await this.#turns.giveBack(surplus, this.store.plan);
      if (wastedUs > 0) await this.store.replan(wastedUs, false);
    } catch {
      // What cannot be given back comes back by itself, in time.
    }
  }

  #arm(): void {
    this.store.heartbeat.heed(this.#turns.size > 0 || this.#booking.isUnderWay);
    this.#alarm.setTo(this.#nextMs());
  }

  /** A turn that does not fit or is in doubt waits for the answer that is under way, not for its time. */
  #nextTurnMs(): number {
    const { first } = this.#turns;
    const isUnfit = first && first.tokens !== this.#line.first?.tokens;
    const waits = this.#isVerifying || (isUnfit && this.#booking.isUnderWay);
    return first && !waits ? first.atMs : Number.POSITIVE_INFINITY;
  }

  #nextMs(): number {
    if (this.#line.size === 0) return Number.POSITIVE_INFINITY;
    const nextTurnMs = Math.max(this.#nextTurnMs(), this.#handOut.pacedMs);
    return Math.min(nextTurnMs, this.#booking.nextMs);
  }
}
