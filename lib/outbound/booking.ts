import { whenAll } from '../core/awaitable.js';
import { RateLimitError } from '../core/errors.js';
import type { Decision } from '../core/limit-store.js';
import type { Answered, DomainStore } from './domain-store.js';
import { WaitTimedOutError } from './outbound-errors.js';
import type { QueueTies } from './queue-ties.js';
import { meaningOfRefusal } from './refused-booking.js';
import { Shutter } from './shutter.js';
import { turnOf } from './turn.js';
import type { TurnBook } from './turn-book.js';
import type { Waiter } from './waiter.js';
import type { WaiterLine } from './waiter-line.js';

/** What booking hangs on. */
export interface BookingParts {
  readonly store: DomainStore;
  readonly line: WaiterLine;
  readonly turns: TurnBook;
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

  /** When something is to be done about those without a turn; Infinity for never. */
  get nextMs(): number {
    const { line, turns } = this.parts;
    if (line.size <= turns.size || this.#isUnderWay) return Number.POSITIVE_INFINITY;
    // Also when it is over by a hair: who was woken too early has not asked yet.
    return Math.min(this.#shutter.opensMs, line.soonestExpiryMs(turns.size));
  }

  /** One question for each who has no turn; they travel together. */
  ask(): void {
    const { store, line, turns, ties } = this.parts;
    const nowMs = ties.ticker.nowMs();
    if (this.#isUnderWay || line.size <= turns.size) return;
    if (this.#shutter.untilMs > nowMs) return this.#askInVain(nowMs);
    const wanting = line.without(turns.size, this.#mostToAsk());
    const inquiries = wanting.map(({ tokens, expiresMs }) =>
      store.inquiry(tokens, expiresMs - nowMs),
    );
    this.#isUnderWay = true;
    const before = turns.generation;
    const answers = inquiries.map((inquiry) => store.decide(inquiry));
    whenAll(
      answers,
      (decisions) => {
        if (decisions.some(isShared)) store.heartbeat.learn(nowMs);
        const answered = decisions.map((decision, i) => ({ decision, inquiry: inquiries[i]! }));
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
    this.#isUnderWay = false;
    this.#shutter.endScouting();
    const nowMs = this.parts.ties.ticker.nowMs();
    const times = { askedMs, bookedMs: nowMs };
    answers.forEach((answered, i) => this.#note(wanting[i]!, answered, generation, times));
    onAnswered();
    this.ask();
    const gate = answers.at(-1)?.decision.gate;
    if (gate?.generation === turns.generation) store.tellShut(gate);
  }

  /** It is not worth asking for so long. */
  shut(milliseconds: number, isSure: boolean): void {
    this.#shutter.shut(this.parts.ties.ticker.nowMs() + milliseconds, isSure);
  }

  /** It may be worth asking again. */
  open(): void {
    this.#shutter.open();
  }

  /** Ends the waits of those without a turn whose time is over. */
  expire(nowMs: number): void {
    if (this.#isUnderWay) return;
    const waitMs = Math.max(0, Math.ceil(this.#shutter.untilMs - nowMs));
    this.#timeOut(waitMs, (expiresMs) => expiresMs <= nowMs);
  }

  /** Who cannot wait until a cooldown is over hears so at once. */
  #askInVain(nowMs: number): void {
    const { untilMs, isSure } = this.#shutter;
    if (isSure) this.#timeOut(Math.ceil(untilMs - nowMs), (expiresMs) => expiresMs < untilMs);
    this.parts.onVain();
  }

  #timeOut(waitMs: number, isTooLate: (expiresMs: number) => boolean): void {
    const { store, line, turns } = this.parts;
    for (const waiter of line.takeExpired(turns.size, isTooLate)) {
      waiter.fail(new WaitTimedOutError(store.name, waitMs));
    }
  }

  /** One to find out; no more than there are slots; else all. */
  #mostToAsk(): number {
    const { store, line } = this.parts;
    if (this.#shutter.scouts) return 1;
    return store.limits.slots?.plan.quota ?? line.size;
  }

  #note(
    waiter: Waiter,
    { decision, inquiry }: Answered,
    generation: number,
    times: { readonly askedMs: number; readonly bookedMs: number },
  ): void {
    const { store, turns, ties } = this.parts;
    const isStale = decision.gate !== undefined && turns.learn(decision.gate, generation);
    if (!decision.allowed) {
      // What was refused before the news came is asked for again.
      if (!isStale) this.#refuse(waiter, decision);
    } else if (isStale && turns.isVoid(decision)) {
      turns.letGo(decision, inquiry.leaseId);
    } else {
      turns.add(turnOf(decision, inquiry, times, ties.watch));
      store.heartbeat.note(decision);
      if (decision.gate?.isProbe) this.shut(store.gate.probeUs / 1_000, false);
    }
  }

  #refuse(waiter: Waiter, decision: Decision): void {
    const { store, ties } = this.parts;
    const meaning = meaningOfRefusal(decision, {
      ...{ domain: store.name, tokens: waiter.tokens, burstCapacity: store.plan.quota },
      isShared: ties.holder !== undefined,
    });
    if (meaning instanceof RateLimitError) this.#reject(waiter, meaning);
    else this.shut(meaning.waitMs, meaning.isSure);
  }

  #fail(wanting: readonly Waiter[], error: unknown): void {
    this.#isUnderWay = false;
    for (const waiter of wanting) this.#reject(waiter, error);
    this.ask();
  }

  #reject(waiter: Waiter, error: unknown): void {
    if (this.parts.line.remove(waiter)) waiter.fail(error);
  }
}

/** Whether it was all processes together that decided. */
function isShared({ gate, failure }: Decision): boolean {
  return gate !== undefined && failure === undefined;
}
