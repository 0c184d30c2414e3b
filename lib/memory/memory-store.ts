import { admits, longestWaitUs, withGate } from '../core/admission.js';
import type { Clock } from '../core/clock.js';
import type { Counter, TokenCounter } from '../core/counter.js';
import type {
  DocumentListener,
  DocumentStore,
  ReplacedDocument,
  StoredDocument,
} from '../core/document-store.js';
import type { Gate, GateChange, GateListener, GateState, GateWatch } from '../core/gate.js';
import { levelAfter } from '../core/gate-record.js';
import { countsAlike, newCounter } from '../core/kept-count.js';
import { LeaseSet } from '../core/lease-set.js';
import type {
  Decision,
  HeldLease,
  Inquiry,
  Limit,
  LimitDecision,
  Return,
} from '../core/limit-store.js';
import { LimitStore } from '../core/limit-store.js';
import type { TokenBucketPlan } from '../core/plan.js';
import { spentOn } from '../core/spent.js';
import { TokenBucket } from '../core/token-bucket.js';
import type { CacheEntry } from './counter-cache.js';
import { CounterCache } from './counter-cache.js';
import { DocumentBoard } from './document-board.js';
import { GateBook } from './gate-book.js';

/** Limits that are remembered unless the options say otherwise: about 25 MB when full. */
export const DEFAULT_MAX_LIMITS = 100_000;

/** What a limit says, and the counter that says so. Filled in as the decision is made. */
interface Verdict extends LimitDecision {
  readonly entry: CacheEntry | undefined;
  readonly counter: Counter;
  remaining: number;
  resetUs: number;
}

/**
 * Remembers in the process. A decision is one turn of the event loop, so it is atomic as it is, and
 * it is answered at once, without a promise.
 */
export class MemoryStore extends LimitStore implements DocumentStore {
  override readonly answersAtOnce = true;
  #counters: CounterCache;
  readonly #clock: Clock;
  readonly #gates = new GateBook();
  readonly #documents = new DocumentBoard();

  constructor(clock: Clock, maxLimits = DEFAULT_MAX_LIMITS) {
    super();
    this.#clock = clock;
    this.#counters = new CounterCache(maxLimits);
  }

  /** How many limits are remembered. */
  get size(): number {
    return this.#counters.size;
  }

  /** How many limits were forgotten before their time, for want of room. */
  get evictions(): number {
    return this.#counters.evictions;
  }

  override decide(inquiry: Inquiry): Decision {
    const nowUs = this.#beginTurn();
    const { limits } = inquiry;
    // Made in its size: pushing to an empty array reserves room for seventeen.
    const verdicts = new Array<Verdict>(limits.length);
    let allowed = true;
    let known = true;
    for (let i = 0; i < limits.length; i++) {
      const verdict = this.#examine(limits[i]!, inquiry, nowUs);
      if (!verdict.admits && !verdict.limit.plan.shadow) allowed = false;
      if (!verdict.entry) known = false;
      verdicts[i] = verdict;
    }
    const gate = inquiry.gate && this.#gates.view(inquiry.gate, nowUs);
    if (gate && gate.waitUs > 0) allowed = false;
    const waitUs = longestWaitUs(verdicts, allowed);
    const spends = allowed && inquiry.mode !== 'peek';
    if (gate && spends) this.#gates.pass(inquiry.gate, nowUs, nowUs + waitUs);
    for (let i = 0; i < verdicts.length; i++) {
      const verdict = verdicts[i]!;
      if (spends && verdict.admits) this.#charge(verdict, inquiry.leaseId, nowUs, waitUs);
      else if (inquiry.mode !== 'peek') this.#begin(verdict, nowUs);
      report(verdict, nowUs);
    }
    // Last, since making room drops what has expired: what was charged has not.
    if (spends && !known) this.#addNew(verdicts, nowUs);
    const decision = { allowed, waitUs, atUs: nowUs, limits: verdicts };
    return gate ? withGate(decision, gate) : decision;
  }

  override giveBack(returned: Return): boolean {
    const nowUs = this.#beginTurn();
    switch (returned.kind) {
      case 'refund':
        return some(returned.limits, (limit) => this.#refund(limit, returned.decision, nowUs));
      case 'release':
        return some(returned.limits, (limit) => this.#release(limit, returned.leaseId));
      case 'cancel':
        return some(returned.decision.limits, (one) =>
          this.#cancel(one, returned.decision, returned.leaseId, nowUs),
        );
      default:
        return returned;
    }
  }

  override renew(leases: readonly HeldLease[]): boolean[] {
    const nowUs = this.#beginTurn();
    return leases.map(({ leaseId, limits }) => {
      const renewed = limits.map((limit) => this.#renew(limit, leaseId, nowUs));
      return renewed.every(Boolean);
    });
  }

  override reset(limits: readonly Limit[]): void {
    for (const limit of limits) this.#counters.delete(limit);
  }

  /** Forgets every limit. Gates and documents stay: others know about them already. */
  clear(): void {
    this.#counters = new CounterCache(this.#counters.maxEntries);
  }

  override changeGate(change: GateChange): GateState {
    const nowUs = this.#beginTurn();
    const plan = change.bucket.plan as TokenBucketPlan;
    const level = this.#bucketOf(change.bucket)?.level(plan, nowUs) ?? plan.quota;
    const owedUs = (-level * plan.periodUs) / plan.refill;
    const [state, effect, dead = []] = this.#gates.change(change, owedUs, nowUs);
    const wanted = levelAfter(effect, level, plan);
    if (wanted !== level) this.#setLevel(change.bucket, wanted, nowUs);
    if (change.kind === 'beat' && change.slots) this.#freeSlots(change.slots, dead, nowUs);
    if (state.changed || change.kind === 'block') this.#gates.tell(change.gate.key, state);
    return state;
  }

  override lookAtGate(gate: Gate): GateState {
    return this.#gates.look(gate, this.#beginTurn());
  }

  override watchGates(listener: GateListener): GateWatch {
    return this.#gates.watch(listener);
  }

  readDocument(name: string): StoredDocument {
    return this.#documents.readDocument(name);
  }

  replaceDocument(name: string, version: number, text: string): ReplacedDocument {
    return this.#documents.replaceDocument(name, version, text);
  }

  watchDocument(name: string, listener: DocumentListener): () => void {
    return this.#documents.watchDocument(name, listener);
  }

  /** Those held for turns that were to come; calls under way end with their lease. */
  #freeSlots(limit: Limit, dead: readonly string[], nowUs: number): void {
    const counter = this.#counters.find(limit)?.counter;
    if (!(counter instanceof LeaseSet) || limit.plan.kind !== 'concurrency') return;
    for (const holder of dead) counter.releaseOf(`${holder}:`, nowUs + limit.plan.leaseUs);
  }

  #bucketOf(limit: Limit): TokenBucket | undefined {
    const counter = this.#counters.find(limit)?.counter;
    return counter instanceof TokenBucket ? counter : undefined;
  }

  #setLevel(limit: Limit, wanted: number, nowUs: number): void {
    const plan = limit.plan as TokenBucketPlan;
    const known = this.#bucketOf(limit);
    const bucket = known ?? new TokenBucket(plan, nowUs);
    bucket.charge(plan, bucket.level(plan, nowUs) - wanted, nowUs);
    if (!known) this.#counters.add(limit, bucket, nowUs);
  }

  #beginTurn(): number {
    const nowUs = this.#clock.nowUs();
    this.#counters.beginTurn(nowUs);
    return nowUs;
  }

  #examine(limit: Limit, inquiry: Inquiry, nowUs: number): Verdict {
    const { plan, cost } = limit;
    const entry = this.#counters.find(limit);
    const counter = entry ? entry.counterOf(plan, nowUs) : newCounter(plan, nowUs);
    const lends = plan.kind === 'concurrency';
    const holds = lends && (counter as LeaseSet).holds(inquiry.leaseId, nowUs);
    const waitUs = holds ? 0 : counter.waitUs(plan, cost, nowUs);
    const admitted = admits(inquiry, plan, waitUs);
    return { limit, admits: admitted, remaining: 0, waitUs, resetUs: 0, entry, counter };
  }

  #charge(verdict: Verdict, leaseId: string, nowUs: number, waitUs: number): void {
    const { limit, entry, counter } = verdict;
    const { plan, cost } = limit;
    if (entry && entry.plan !== plan) entry.adopt(plan, counter, nowUs);
    if (plan.kind === 'concurrency') (counter as LeaseSet).lend(plan, leaseId, nowUs + waitUs);
    else (counter as TokenCounter).charge(plan, cost, nowUs);
    entry?.mix?.charge(plan, cost, counter.resetUs(plan, nowUs), nowUs);
  }

  /** A count that begins with a denial is kept, too, so that its room grows from now on. */
  #begin({ limit: { plan }, entry, counter }: Verdict, nowUs: number): void {
    if (entry && entry.plan !== plan && entry.hasBegun(counter, nowUs)) {
      entry.adopt(plan, counter, nowUs);
      entry.mix?.charge(plan, 0, counter.resetUs(plan, nowUs), nowUs);
    }
  }

  #addNew(verdicts: readonly Verdict[], nowUs: number): void {
    for (const { limit, entry, counter, admits: charged } of verdicts) {
      if (charged && !entry) this.#counters.add(limit, counter, nowUs);
    }
  }

  #refund(limit: Limit, decision: Decision | undefined, nowUs: number): boolean {
    const { plan } = limit;
    const entry = this.#counters.find(limit);
    if (!entry || plan.kind === 'concurrency' || !countsAlike(entry.plan, plan)) return false;
    const counter = entry.counter as TokenCounter;
    return counter.refund(plan, spentOn(limit, decision), nowUs);
  }

  #release(limit: Limit, leaseId: string): boolean {
    const counter = this.#counters.find(limit)?.counter;
    return counter instanceof LeaseSet && counter.release(leaseId);
  }

  #cancel(one: LimitDecision, decision: Decision, leaseId: string, nowUs: number): boolean {
    const { limit, admits: charged, waitUs } = one;
    const { plan } = limit;
    if (!charged) return false;
    const counter = this.#counters.find(limit)?.counter;
    if (plan.kind === 'token-bucket' && counter instanceof TokenBucket) {
      const { gate, atUs } = decision;
      const dueUs = atUs + waitUs;
      if (gate && this.#gates.isVoid(limit.key, gate.generation, dueUs, nowUs)) return false;
      return counter.cancel(plan, spentOn(limit, decision), dueUs, nowUs);
    }
    return plan.kind === 'sliding-window'
      ? this.#refund(limit, decision, nowUs)
      : this.#release(limit, leaseId);
  }

  #renew(limit: Limit, leaseId: string, nowUs: number): boolean {
    const { plan } = limit;
    const entry = this.#counters.find(limit);
    if (plan.kind !== 'concurrency' || !(entry?.counter instanceof LeaseSet)) return false;
    return entry.counter.renew(plan, leaseId, nowUs);
  }
}

/** Fills in what is left. */
function report(verdict: Verdict, nowUs: number): void {
  const { counter, limit } = verdict;
  const { plan } = limit;
  verdict.remaining = counter.remaining(plan, nowUs);
  verdict.resetUs = plan.kind === 'concurrency' ? 0 : counter.resetUs(plan, nowUs);
}

/** Works on all of them, and tells whether it came to anything. */
function some<T>(items: readonly T[], work: (item: T) => boolean): boolean {
  return items.map(work).some(Boolean);
}
