import type { Awaitable } from '../core/awaitable.js';
import { isPending } from '../core/awaitable.js';
import { NEVER } from '../core/counter.js';
import type { Gate, GateState, GateView, GateWatch } from '../core/gate.js';
import type { LeaseTies } from '../core/lease.js';
import { Lease } from '../core/lease.js';
import type { Decision, Inquiry, Limit } from '../core/limit-store.js';
import type { TokenBucketPlan } from '../core/plan.js';
import { DENY_ALL } from '../core/plan.js';
import {
  CostExceedsBurstError,
  OutboundDeniedError,
  OutboundUnavailableError,
  WaitAbortedError,
  WaitTimedOutError,
} from './outbound-errors.js';
import { AbortBoard } from './abort-board.js';
import { Pace } from './pace.js';
import { Permit } from './permit.js';
import type { Ticker } from './ticker.js';
import type { Waiter } from './waiter.js';

/** Longest that is booked ahead: ten years. */
const MAX_WAIT_US = 315_360_000_000_000;
/** Whoever holds a slot tells when it is free, unless it died: so it is tried this often as well. */
const SLOT_RETRY_MS = 100;
/** While news does not come, a turn that was booked so long ago is checked before it is used. */
const TRUSTED_MS = 50;

/** In place of how often news was missed: it was not heard at all when the turn was booked. */
const UNHEARD = -1;

/** The limits of a domain, as they are at the moment. */
export interface DomainLimits {
  readonly bucket: Limit;
  /** How many may be under way at once; undefined for any number. */
  readonly slots: Limit | undefined;
}

/** What a queue hangs on. */
export interface QueueTies extends LeaseTies {
  readonly ticker: Ticker;
  readonly watch: GateWatch;
  readonly newLeaseId: () => string;
  /** Told whenever a gate keeps a call from going. */
  readonly onShut: (domain: string, shut: ShutGate) => void;
}

/** What a call learns about a gate that is shut. */
export type ShutGate = Pick<GateState, 'blocks' | 'cooldownUs'>;

/** A time at which one call may go. It belongs to the process, not to whoever it was booked for. */
interface Turn {
  readonly tokens: number;
  readonly atMs: number;
  readonly bookedMs: number;
  /** How often news had been missed when it was last known to be good. */
  gaps: number;
  readonly decision: Decision;
  readonly leaseId: string;
}

/**
 * Those who wait for one domain in this process, in order of arrival, and the turns that were booked
 * for them. A turn goes to the first who is still there: when somebody leaves, all behind move up
 * and the last turn is given back. One timer, whoever waits.
 */
export class DomainQueue {
  readonly #waiters: Waiter[] = [];
  /** Made when first needed. */
  #aborts: AbortBoard<Waiter> | undefined;
  #turns: Turn[] = [];
  #generation = 0;
  #cutUs = 0;
  /** Until when asking is known to be in vain. */
  #shutUntilMs = 0;
  /** Whether that is sure, so that whoever cannot wait so long need not. */
  #isShutForSure = false;
  /** Whether one goes ahead to find out before all the others ask. */
  #scouts = false;
  #isAsking = false;
  #isTrimming = false;
  #isVerifying = false;
  /** Made when first needed. */
  #pace: Pace | undefined;
  /** Until when the next turn has to wait for those before it; 0 when it has not. */
  #pacedMs = 0;
  #stopTimer: (() => void) | undefined;
  #timerMs = Number.POSITIVE_INFINITY;

  constructor(
    readonly domain: string,
    private limits: DomainLimits,
    private readonly gate: Gate,
    private readonly memoryUs: number,
    private readonly ties: QueueTies,
  ) {}

  /** How many wait. */
  get waiting(): number {
    return this.#waiters.length;
  }

  /** How long the first of them has waited. */
  get oldestWaitMs(): number {
    const first = this.#waiters[0];
    return first ? this.ties.ticker.nowMs() - first.arrivedMs : 0;
  }

  /** Whether it can be forgotten. */
  get isIdle(): boolean {
    return this.#waiters.length === 0 && this.#turns.length === 0 && !this.#isAsking;
  }

  /** Waits for a turn. */
  wait(tokens: number, timeoutMs: number, signal: AbortSignal | undefined): Awaitable<Permit> {
    const arrivedMs = this.ties.ticker.nowMs();
    const answered = this.#answerNow(tokens, timeoutMs);
    if (answered && isTurnNow(answered.decision)) {
      if (answered.decision.gate) this.#learn(answered.decision.gate, this.#generation);
      return this.#permit(answered.decision, answered.inquiry.leaseId, arrivedMs);
    }
    const expiresMs = arrivedMs + timeoutMs;
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { tokens, arrivedMs, expiresMs, signal, resolve, reject };
      if (signal) this.#listen(signal, waiter);
      this.#waiters.push(waiter);
      if (!answered) return this.#ask();
      this.#isAsking = true;
      this.#settle([waiter], [answered.inquiry], [answered.decision], this.#generation);
    });
  }

  /** What a store says that answers at once, to somebody who is alone: no promise is needed then. */
  #answerNow(tokens: number, timeoutMs: number) {
    if (!this.isIdle || this.#shutUntilMs > 0 || !this.ties.store.answersAtOnce) return undefined;
    const inquiry = this.#inquiry(tokens, Math.min(timeoutMs * 1_000, MAX_WAIT_US));
    const decision = this.ties.store.decide(inquiry) as Decision;
    return { inquiry, decision };
  }

  #listen(signal: AbortSignal, waiter: Waiter): void {
    this.#aborts ??= new AbortBoard((one, reason) => this.#abort(one, reason));
    this.#aborts.add(signal, waiter);
  }

  /** Takes a turn only if there is one at once. */
  async takeNow(tokens: number): Promise<Permit | Decision> {
    const { ticker } = this.ties;
    const inquiry = this.#inquiry(tokens, 0);
    const decision = await this.ties.store.decide(inquiry);
    if (decision.allowed) return this.#permit(decision, inquiry.leaseId, ticker.nowMs());
    this.#tellShut(decision.gate);
    return decision;
  }

  /** Other limits from now on, also for those who wait already. */
  async changeLimits(limits: DomainLimits): Promise<void> {
    this.limits = limits;
    if (this.isIdle) return;
    if (limits.slots?.plan.quota === DENY_ALL) return this.#refuseAll();
    await this.#replan(0, true);
  }

  /** Calls were switched off. */
  #refuseAll(): void {
    for (const waiter of [...this.#waiters]) {
      this.#reject(waiter, new OutboundDeniedError(this.domain));
    }
    this.#trim();
    this.#arm();
  }

  /** Hears about the gate. */
  hear(state: GateState): void {
    if (state.generation > this.#generation) this.#adopt(state);
    if (state.cooldownUs > 0) this.#shut(state.cooldownUs / 1_000, true);
    else if (state.changed) this.#open();
    this.#ask();
    this.#arm();
  }

  /** Ends all waits: the application is closing. */
  close(reason: unknown): void {
    for (const waiter of [...this.#waiters]) {
      this.#reject(waiter, new WaitAbortedError(this.domain, reason));
    }
    this.#trim();
    this.#stopTimer?.();
  }

  /** Books turns for those who have none: one question each, which travel together. */
  #ask(): void {
    const nowMs = this.ties.ticker.nowMs();
    const booked = this.#turns.length;
    if (this.#isAsking || this.#waiters.length <= booked) return;
    if (this.#shutUntilMs > nowMs) return this.#failHopeless(nowMs);
    const wanting = this.#waiters.slice(booked, booked + this.#mostToAsk());
    const inquiries = wanting.map(({ tokens, expiresMs }) =>
      this.#inquiry(tokens, Math.min((expiresMs - nowMs) * 1_000, MAX_WAIT_US)),
    );
    this.#isAsking = true;
    const before = this.#generation;
    const answers = inquiries.map((inquiry) => this.ties.store.decide(inquiry));
    whenAll(
      answers,
      (decisions) => this.#settle(wanting, inquiries, decisions, before),
      (error) => this.#fail(wanting, error),
    );
  }

  /** One to find out; no more than there are slots; else all. */
  #mostToAsk(): number {
    if (this.#scouts) return 1;
    return this.limits.slots?.plan.quota ?? this.#waiters.length;
  }

  #inquiry(tokens: number, maxWaitUs: number): Inquiry {
    const { bucket, slots } = this.limits;
    const paid = tokens === bucket.cost ? bucket : { ...bucket, cost: tokens };
    return {
      limits: slots ? [slots, paid] : [paid],
      mode: 'reserve',
      maxWaitUs: Math.max(0, Math.floor(maxWaitUs)),
      leaseId: slots ? this.ties.newLeaseId() : '',
      gate: this.gate,
    };
  }

  #settle(
    wanting: readonly Waiter[],
    inquiries: readonly Inquiry[],
    decisions: readonly Decision[],
    before: number,
  ): void {
    this.#isAsking = false;
    const nowMs = this.ties.ticker.nowMs();
    this.#scouts = false;
    decisions.forEach((decision, i) => {
      const isStale = decision.gate !== undefined && this.#learn(decision.gate, before);
      const { leaseId } = inquiries[i]!;
      if (!decision.allowed) {
        // What was refused before the news came is asked for again.
        if (!isStale) this.#refuse(wanting[i]!, decision);
      } else if (isStale && this.#isVoid(decision)) {
        this.#letSlotGo(decision, leaseId);
      } else {
        const { isLive, gaps } = this.ties.watch;
        this.#turns.push(turnOf(decision, inquiries[i]!, nowMs, isLive ? gaps : UNHEARD));
        if (decision.gate?.isProbe) this.#shut(this.gate.probeUs / 1_000, false);
      }
    });
    this.#turns.sort((one, other) => one.atMs - other.atMs);
    this.#trim();
    this.#dispatch();
    this.#ask();
    const gate = decisions.at(-1)?.gate;
    if (gate?.generation === this.#generation) this.#tellShut(gate);
  }

  /** Takes note of the plan of turns; tells whether the answer is older than what is known. */
  #learn(view: GateView, before: number): boolean {
    const { generation } = view;
    if (generation === this.#generation) return false;
    // A plan that was heard of while the question was under way is newer than the answer.
    if (generation < this.#generation && this.#generation !== before) return true;
    this.#adopt(view);
    return false;
  }

  /** A new plan: turns that were due later than its cut are void, and booked anew. */
  #adopt({ generation, cutUs }: { readonly generation: number; readonly cutUs: number }): void {
    this.#generation = generation;
    this.#cutUs = cutUs;
    const booked = this.#turns;
    this.#turns = booked.filter(
      ({ decision }) => decision.gate === undefined || !this.#isVoid(decision),
    );
    for (const turn of booked) {
      if (!this.#turns.includes(turn)) this.#letSlotGo(turn.decision, turn.leaseId);
    }
  }

  /** A turn that is void owes no tokens, but it may hold a slot. */
  #letSlotGo({ limits }: Decision, leaseId: string): void {
    const lent = limits.map(({ limit }) => limit).filter(({ plan }) => plan.kind === 'concurrency');
    if (lent.length === 0) return;
    const released = this.ties.store.giveBack({ kind: 'release', limits: lent, leaseId });
    if (isPending(released)) released.catch(() => undefined);
  }

  #isVoid({ gate, atUs, waitUs }: Decision): boolean {
    return gate!.generation !== this.#generation && atUs + waitUs > this.#cutUs;
  }

  #refuse(waiter: Waiter, { failure, gate, waitUs, limits }: Decision): void {
    if (failure === 'closed') {
      this.#reject(waiter, new OutboundUnavailableError(this.domain));
    } else if (gate !== undefined && gate.waitUs > 0) {
      // Those who wait for a probe may be let go by what it finds, at any time.
      this.#shut(gate.waitUs / 1_000, !gate.isTried);
    } else if (waitUs === NEVER) {
      const { quota } = this.limits.bucket.plan;
      this.#reject(waiter, new CostExceedsBurstError(this.domain, waiter.tokens, quota));
    } else if (limits.some(({ limit, admits }) => !admits && limit.plan.kind === 'concurrency')) {
      this.#shut(Math.min(waitUs / 1_000, SLOT_RETRY_MS), false);
    } else {
      this.#reject(waiter, new WaitTimedOutError(this.domain, Math.ceil(waitUs / 1_000)));
    }
  }

  /** Of a cooldown only: what a probe finds is told by whoever sent it. */
  #tellShut(view: GateView | undefined): void {
    if (!view || view.waitUs === 0 || view.isTried) return;
    this.ties.onShut(this.domain, { blocks: view.blocks, cooldownUs: view.waitUs });
  }

  #shut(milliseconds: number, forSure: boolean): void {
    this.#shutUntilMs = this.ties.ticker.nowMs() + milliseconds;
    this.#isShutForSure = forSure;
    this.#scouts = true;
  }

  #open(): void {
    this.#shutUntilMs = 0;
    this.#scouts = false;
  }

  /** Hands turns that have come to those who are first. */
  #dispatch(): void {
    const nowMs = this.ties.ticker.nowMs();
    while (this.#waiters.length > 0 && this.#turns.length > 0 && this.#turns[0]!.atMs <= nowMs) {
      if (this.#mustVerify(this.#turns[0]!, nowMs)) return this.#verify();
      if (!this.#fitsFirst()) break;
      if (!this.#keepsPace(nowMs)) break;
      this.#letGo();
    }
    this.#expire(nowMs);
    this.#arm();
  }

  /** A turn that was booked for another cost is given back, and one that fits is booked. */
  #fitsFirst(): boolean {
    if (this.#turns[0]!.tokens === this.#waiters[0]!.tokens) return true;
    this.#trim();
    return false;
  }

  /** Turns that are late because this process was busy do not go all at once. */
  #keepsPace(nowMs: number): boolean {
    const plan = this.limits.bucket.plan as TokenBucketPlan;
    const { tokens } = this.#turns[0]!;
    this.#pace ??= new Pace(plan, nowMs);
    const waitMs = this.#pace.waitMs(plan, tokens, nowMs);
    this.#pacedMs = waitMs > 0 ? nowMs + waitMs : 0;
    if (waitMs > 0) return false;
    this.#pace.spend(plan, tokens, nowMs);
    return true;
  }

  /** The first turn to the first in the queue. */
  #letGo(): void {
    const turn = this.#turns.shift()!;
    const waiter = this.#waiters.shift()!;
    if (waiter.signal) this.#aborts?.remove(waiter.signal, waiter);
    waiter.resolve(this.#permit(turn.decision, turn.leaseId, waiter.arrivedMs));
  }

  #permit(decision: Decision, leaseId: string, arrivedMs: number): Permit {
    const { gate } = decision;
    const lease = leaseId === '' ? undefined : this.#lease(decision, leaseId);
    const waitedMs = Math.max(0, this.ties.ticker.nowMs() - arrivedMs);
    return new Permit(this.domain, waitedMs, gate?.generation, gate?.isProbe ?? false, lease);
  }

  #lease(decision: Decision, leaseId: string): Lease | undefined {
    const lent = decision.limits.filter(
      ({ admits, limit }) => admits && limit.plan.kind === 'concurrency',
    );
    if (lent.length === 0) return undefined;
    const held = { leaseId, limits: lent.map(({ limit }) => limit) };
    return new Lease(decision, held, this.#leaseTies);
  }

  /** A slot that comes back is for whoever waits here. */
  get #leaseTies(): LeaseTies {
    const { store, keeper } = this.ties;
    return { store, keeper, onRelease: () => void this.#tellFree() };
  }

  /** Told to all processes alike, this one included, or whoever frees a slot would always get it. */
  async #tellFree(): Promise<void> {
    const { gate, memoryUs } = this;
    const { bucket } = this.limits;
    try {
      const state = await this.ties.store.changeGate({ kind: 'free', gate, bucket, memoryUs });
      if (!this.ties.watch.isLive) this.hear(state);
    } catch {
      // Whoever waits for a slot tries again soon.
    }
  }

  #mustVerify({ decision, bookedMs, gaps }: Turn, nowMs: number): boolean {
    const { watch } = this.ties;
    if (decision.gate === undefined || (watch.isLive && watch.gaps === gaps)) return false;
    return nowMs - bookedMs > TRUSTED_MS;
  }

  /** News may have been missed: is the plan still the one by which these turns were booked? */
  #verify(): void {
    if (this.#isVerifying) return;
    this.#isVerifying = true;
    const { gaps } = this.ties.watch;
    whenAll(
      [this.ties.store.lookAtGate(this.gate)],
      ([state]) => {
        this.#isVerifying = false;
        for (const turn of this.#turns) turn.gaps = gaps;
        this.hear(state!);
        this.#dispatchVerified();
        if (state!.cooldownUs > 0) this.ties.onShut(this.domain, state!);
      },
      () => {
        this.#isVerifying = false;
        this.#dispatchVerified();
      },
    );
  }

  /** Without anybody to ask, a turn that was booked is good. */
  #dispatchVerified(): void {
    const nowMs = this.ties.ticker.nowMs();
    while (this.#waiters.length > 0 && this.#turns.length > 0 && this.#turns[0]!.atMs <= nowMs) {
      if (!this.#fitsFirst() || !this.#keepsPace(nowMs)) break;
      this.#letGo();
    }
    this.#ask();
    this.#arm();
  }

  /** Those without a turn whose time is over. */
  #expire(nowMs: number): void {
    const waitMs = Math.max(0, Math.ceil(this.#shutUntilMs - nowMs));
    for (const waiter of this.#waiters.slice(this.#turns.length)) {
      if (waiter.expiresMs <= nowMs && !this.#isAsking) {
        this.#reject(waiter, new WaitTimedOutError(this.domain, waitMs));
      }
    }
  }

  /** Who cannot wait until a cooldown is over hears so at once. */
  #failHopeless(nowMs: number): void {
    if (this.#isShutForSure) {
      const waitMs = Math.ceil(this.#shutUntilMs - nowMs);
      for (const waiter of this.#waiters.slice(this.#turns.length)) {
        if (waiter.expiresMs < this.#shutUntilMs) {
          this.#reject(waiter, new WaitTimedOutError(this.domain, waitMs));
        }
      }
    }
    this.#arm();
  }

  #fail(wanting: readonly Waiter[], error: unknown): void {
    this.#isAsking = false;
    for (const waiter of wanting) this.#reject(waiter, error);
    this.#ask();
  }

  #abort(waiter: Waiter, reason: unknown): void {
    this.#reject(waiter, new WaitAbortedError(this.domain, reason));
    if (this.#turns.length === 0) return this.#arm();
    if (this.#isTrimming) return;
    this.#isTrimming = true;
    // Many may leave at once; together they cost one look.
    setImmediate(() => {
      this.#isTrimming = false;
      this.#trim();
      this.#arm();
    });
  }

  #reject(waiter: Waiter, error: unknown): void {
    const at = this.#waiters.indexOf(waiter);
    if (at === -1) return;
    this.#waiters.splice(at, 1);
    if (waiter.signal) this.#aborts?.remove(waiter.signal, waiter);
    waiter.reject(error);
  }

  /** Gives back turns that nobody here can use, the latest first: only the last in the queue counts. */
  #trim(): void {
    if (this.#isAsking) return;
    let used = 0;
    while (this.#turns[used] && this.#waiters[used]?.tokens === this.#turns[used]!.tokens) used++;
    const surplus = this.#turns.splice(used).reverse();
    if (surplus.length > 0) void this.#giveBack(surplus);
    if (this.#waiters.length > used) this.#ask();
  }

  async #giveBack(turns: readonly Turn[]): Promise<void> {
    const plan = this.limits.bucket.plan as TokenBucketPlan;
    let wastedTokens = 0;
    try {
      // All at once, so that they arrive before whatever is asked next.
      const giving = turns.map(async ({ decision, leaseId }) =>
        this.ties.store.giveBack({ kind: 'cancel', decision, leaseId }),
      );
      const cameBack = await Promise.all(giving);
      turns.forEach(({ decision, tokens }, i) => {
        // What an earlier plan wasted is over with it.
        const isOurs = decision.gate?.generation === this.#generation;
        if (!cameBack[i] && isOurs) wastedTokens += tokens;
      });
      const wastedUs = Math.round((wastedTokens * plan.periodUs) / plan.refill);
      if (wastedUs > 0) await this.#replan(wastedUs, false);
    } catch {
      // What cannot be given back comes back by itself, in time.
    }
  }

  async #replan(wastedUs: number, always: boolean): Promise<void> {
    const { gate, memoryUs, ties } = this;
    const { bucket } = this.limits;
    const change = { kind: 'replan', gate, bucket, memoryUs, wastedUs, always } as const;
    const state = await ties.store.changeGate(change);
    if (state.changed) this.hear(state);
  }

  /** One timer for the next thing to happen. */
  #arm(): void {
    const nextMs = this.#nextMs();
    if (nextMs === this.#timerMs) return;
    this.#stopTimer?.();
    this.#timerMs = nextMs;
    this.#stopTimer = undefined;
    if (nextMs === Number.POSITIVE_INFINITY) return;
    const { ticker } = this.ties;
    this.#stopTimer = ticker.wakeIn(Math.max(0, nextMs - ticker.nowMs()), () => {
      this.#timerMs = Number.POSITIVE_INFINITY;
      this.#dispatch();
      this.#ask();
      this.#arm();
    });
  }

  /** A turn that does not fit waits for the answer that is under way, not for its time. */
  #nextTurnMs(): number {
    const [turn] = this.#turns;
    const waits = turn && this.#isAsking && turn.tokens !== this.#waiters[0]?.tokens;
    return turn && !waits ? turn.atMs : Number.POSITIVE_INFINITY;
  }

  #nextMs(): number {
    if (this.#waiters.length === 0) return Number.POSITIVE_INFINITY;
    let nextMs = Math.max(this.#nextTurnMs(), this.#pacedMs);
    if (this.#waiters.length > this.#turns.length && !this.#isAsking) {
      // Also when it is over by a hair: who was woken too early has not asked yet.
      if (this.#shutUntilMs > 0) nextMs = Math.min(nextMs, this.#shutUntilMs);
      for (let i = this.#turns.length; i < this.#waiters.length; i++) {
        nextMs = Math.min(nextMs, this.#waiters[i]!.expiresMs);
      }
    }
    return nextMs;
  }
}

function isTurnNow({ allowed, waitUs, gate }: Decision): boolean {
  return allowed && waitUs === 0 && !gate?.isProbe;
}

function turnOf(
  decision: Decision,
  { limits, leaseId }: Inquiry,
  nowMs: number,
  gaps: number,
): Turn {
  const tokens = limits.at(-1)!.cost;
  const atMs = nowMs + decision.waitUs / 1_000;
  return { tokens, atMs, bookedMs: nowMs, gaps, decision, leaseId };
}

/** Without a promise where all answers are there, as those of the embedded store are. */
function whenAll<T>(
  answers: readonly Awaitable<T>[],
  then: (values: readonly T[]) => void,
  fail: (error: unknown) => void,
): void {
  if (answers.some(isPending)) Promise.all(answers).then(then, fail);
  else then(answers as readonly T[]);
}
