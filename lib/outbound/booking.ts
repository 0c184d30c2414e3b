import { whenAll } from '../core/awaitable.js';
import { RateLimitError } from '../core/errors.js';
import type { Decision } from '../core/limit-store.js';
import type { Answered, DomainStore } from './domain-store.js';
import { WaitTimedOutError } from './outbound-errors.js';
import type { PermitMaker } from './permit-maker.js';
import type { QueueTies } from './queue-ties.js';
import { meaningOfRefusal } from './refused-booking.js';
import type { ShutReason } from './shutter.js';
import { Shutter } from './shutter.js';
import { turnOf } from './turn.js';
import type { TurnBook } from './turn-book.js';
import type { Waiter } from './waiter.js';
import type { WaiterLine } from './waiter-line.js';

/** More questions at a time would make a distant store answer all of them too late. */
const MOST_AT_ONCE = 512;

/** What booking hangs on. */
export interface BookingParts {
  readonly store: DomainStore;
  readonly line: WaiterLine;
  readonly turns: TurnBook;
  readonly permits: PermitMaker;
  readonly ties: QueueTies;
  /** Called when answers have come. */
  readonly onAnswered: () => void;
  /** Called when asking is known to be in vain for now. */
  readonly onVain: () => void;
}

/** Books turns for those in the line who have none. */
export class Booking {
  readonly #shutter = new Shutter();
  #isUnderWay = false;

  constructor(private readonly parts: BookingParts) {}

  /** Whether an answer is being waited for. */
  get isUnderWay(): boolean {
    return this.#isUnderWay;
  }

  /** When it is worth asking for those without a turn; Infinity for never. */
  get nextMs(): number {
    if (this.#isUnderWay || this.parts.line.wanting === 0) return Number.POSITIVE_INFINITY;
    // Also when it is over by a hair: who was woken too early has not asked yet.
    return this.#shutter.opensMs;
  }

  /** One question for each who has no turn; they travel together. */
  ask(): void {
    const { store, line, turns } = this.parts;
    if (this.#isUnderWay || line.wanting === 0) return;
    const nowMs = this.#nowMs();
    if (this.#shutter.untilMs > nowMs) return this.#askInVain(nowMs);
    const wanting = line.without(this.#mostToAsk());
    const inquiries = wanting.map((waiter) =>
      store.inquiry(waiter.tokens, waiter.patienceMs(nowMs)),
    );
    this.#isUnderWay = true;
    const before = turns.generation;
    const answers = inquiries.map((inquiry) => store.decide(inquiry));
    whenAll(
      answers,
      (decisions) => {
        const answered = decisions.map((decision, i) => ({ decision, inquiry: inquiries[i]! }));
        if (decisions.some(isShared)) store.heartbeat.learn(nowMs);
        this.settle(wanting, answered, before, nowMs);
      },
      (error) => this.#fail(wanting, error),
    );
  }

  /** Takes note of answers to questions that were asked under a plan of turns. */
  settle(
    wanting: readonly Waiter[],
    answers: readonly Answered[],
    generation: number,
    askedMs: number,
  ): void {
    const { store, turns, onAnswered } = this.parts;
    const nowMs = this.#nowMs();
    this.#isUnderWay = false;
    this.#shutter.widen(nowMs);
    const times = { askedMs, bookedMs: nowMs };
    const unserved = answers.map((one) => this.#note(one, generation, times));
    unserved.forEach((decision, i) => {
      if (decision) this.#refuse(wanting[i]!, decision, nowMs);
    });
    onAnswered();
    for (const waiter of wanting) if (waiter.isHasty) this.#timeOut(waiter);
    const gate = answers.at(-1)?.decision.gate;
    if (gate?.generation === turns.generation) store.tellShut(gate);
  }

  /** It is not worth asking for so long. */
  shut(milliseconds: number, isSure: boolean, reason: ShutReason): void {
    this.#shutter.close({ untilMs: this.#nowMs() + milliseconds, isSure, reason });
  }

  /** It may be worth asking again. */
  open(): void {
    this.#shutter.open();
  }

  /** Ends the wait of somebody whose time is over. */
  expire(waiter: Waiter): void {
    this.parts.line.remove(waiter);
    waiter.fail(this.#timeoutOf(waiter));
  }

  /** Who cannot wait until a cooldown is over hears so at once. */
  #askInVain(nowMs: number): void {
    const { line, onVain } = this.parts;
    const { untilMs, shut } = this.#shutter;
    const isSure = shut?.isSure === true && untilMs > nowMs;
    const impatient = isSure ? line.takeImpatient(untilMs) : line.takeHasty();
    for (const waiter of impatient) waiter.fail(this.#timeoutOf(waiter));
    onVain();
  }

  #timeOut(waiter: Waiter): void {
    if (waiter.isInLine) this.expire(waiter);
  }

  /** Why somebody had to go, as far as it is known. */
  #timeoutOf({ hasTurn }: Waiter): WaitTimedOutError {
    const { store, line, permits } = this.parts;
    const { shut } = this.#shutter;
    if (hasTurn || !shut) return new WaitTimedOutError(store.name, 'lag', undefined);
    const { reason, untilMs } = shut;
    const retryAfterMs =
      reason === 'concurrency'
        ? permits.slotWaitMs(line.size)
        : Math.max(1, Math.ceil(untilMs - this.#nowMs()));
    return new WaitTimedOutError(store.name, reason, retryAfterMs);
  }

  /** One to find out, then twice as many; no more than there are slots; else all. */
  #mostToAsk(): number {
    const { store, line, ties } = this.parts;
    const atOnce = ties.store.answersAtOnce ? line.size : MOST_AT_ONCE;
    return Math.min(this.#shutter.most, store.limits.slots?.plan.quota ?? atOnce, atOnce);
  }

  /** Takes note of a turn; answers the decision when whoever asked may have to go without one. */
  #note(
    { decision, inquiry }: Answered,
    generation: number,
    times: { readonly askedMs: number; readonly bookedMs: number },
  ): Decision | undefined {
    const { store, line, turns, ties } = this.parts;
    const isStale = decision.gate !== undefined && turns.learn(decision.gate, generation);
    // What was refused before the news came is asked for again.
    if (!decision.allowed) return isStale ? undefined : decision;
    if (isStale && turns.isVoid(decision)) {
      turns.letGo(decision, inquiry.leaseId);
      return undefined;
    }
    if (!turns.add(turnOf(decision, inquiry, times, ties.watch))) line.shift();
    store.heartbeat.note(decision);
    if (decision.gate?.isProbe) this.shut(store.gate.probeUs / 1_000, false, 'cooldown');
    return decision;
  }

  /** Who has got another turn meanwhile may keep it. */
  #refuse(waiter: Waiter, decision: Decision, nowMs: number): void {
    const { store, line, ties } = this.parts;
    const asked = {
      ...{ domain: store.name, tokens: waiter.tokens, burstCapacity: store.plan.quota },
      isShared: ties.holder !== undefined,
    };
    if (decision.allowed) return this.#refuseLate(waiter, nowMs + decision.waitUs / 1_000, nowMs);
    const meaning = meaningOfRefusal(decision, asked);
    if (!(meaning instanceof RateLimitError)) {
      return this.shut(meaning.waitMs, meaning.isSure, meaning.reason);
    }
    if (!line.hasTurn(waiter)) this.#reject(waiter, meaning);
  }

  /** The answer took so long that the turn comes too late for whoever asked. */
  #refuseLate(waiter: Waiter, atMs: number, nowMs: number): void {
    const { store, line } = this.parts;
    if (atMs <= waiter.expiresMs || line.hasTurn(waiter)) return;
    const retryAfterMs = Math.max(1, Math.ceil(atMs - nowMs));
    this.#reject(waiter, new WaitTimedOutError(store.name, 'lag', retryAfterMs));
  }

  #fail(wanting: readonly Waiter[], error: unknown): void {
    this.#isUnderWay = false;
    for (const waiter of wanting) this.#reject(waiter, error);
    this.parts.onAnswered();
  }

  #reject(waiter: Waiter, error: unknown): void {
    if (this.parts.line.remove(waiter)) waiter.fail(error);
  }

  #nowMs(): number {
    return this.parts.ties.ticker.nowMs();
  }
}

/** Whether it was all processes together that decided. */
function isShared({ gate, failure }: Decision): boolean {
  return gate !== undefined && failure === undefined;
}
