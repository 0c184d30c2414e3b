import type { Awaitable } from '../core/awaitable.js';
import type { GateState } from '../core/gate.js';
import type { Decision } from '../core/limit-store.js';
import { DomainQueue } from './domain-queue.js';
import type { RuledDomain } from './domain-store.js';
import { DomainStore } from './domain-store.js';
import { LimitStats } from './limit-stats.js';
import type { FoundRule } from './outbound-rules.js';
import type { Permit } from './permit.js';
import { PermitMaker } from './permit-maker.js';
import type { DomainLimits, QueueTies } from './queue-ties.js';
import type { CompleteThrottleRule } from './throttle-rule.js';
import { ThrottleStats } from './throttle-stats.js';

/** A domain that calls go to. Small: there may be thousands, and most of them have nobody waiting. */
export class Domain implements RuledDomain {
  readonly stats = new LimitStats();
  readonly store: DomainStore;
  /** Blocks in a row, as far as this process has heard; −1 when it has not. */
  blocks = -1;
  /** How often its gate was heard of. */
  timesHeard = 0;
  /** When the last cooldown that was heard of ends; 0 when it is over. */
  cooldownEndsMs = 0;
  usedMs = 0;
  readonly #permits: PermitMaker;
  #queue: DomainQueue | undefined;
  #throttleStats: ThrottleStats | undefined;

  constructor(
    readonly name: string,
    public found: FoundRule,
    public throttle: CompleteThrottleRule,
    public limits: DomainLimits,
    private readonly ties: QueueTies,
  ) {
    this.store = new DomainStore(this, ties);
    this.#permits = new PermitMaker(this.store, ties);
  }

  /** Those who wait, if there are any. */
  get queue(): DomainQueue | undefined {
    return this.#queue;
  }

  get throttleStats(): ThrottleStats {
    return (this.#throttleStats ??= new ThrottleStats());
  }

  get isIdle(): boolean {
    if (this.store.startedHeartbeat?.isBeating) return false;
    return this.#queue?.isIdle ?? true;
  }

  /**
   * Waits for a turn. Who is alone and may go at once needs no queue, nor a promise where the store
   * answers without one.
   */
  wait(tokens: number, timeoutMs: number, signal: AbortSignal | undefined): Awaitable<Permit> {
    const arrivedMs = this.ties.ticker.nowMs();
    const waiting = { arrivedMs, expiresMs: arrivedMs + timeoutMs, signal };
    if (this.#queue || !this.ties.store.answersAtOnce) return this.#join().wait(tokens, waiting);
    const inquiry = this.store.inquiry(tokens, timeoutMs);
    const decision = this.store.decide(inquiry) as Decision;
    return isTurnNow(decision)
      ? this.#permits.make(decision, inquiry.leaseId, arrivedMs)
      : this.#join().wait(tokens, waiting, { inquiry, decision });
  }

  /** Takes a turn only if there is one at once. */
  async takeNow(tokens: number): Promise<Permit | Decision> {
    const inquiry = this.store.inquiry(tokens, 0);
    const decision = await this.store.decide(inquiry);
    if (decision.allowed) {
      this.store.heartbeat.note(decision);
      return this.#permits.make(decision, inquiry.leaseId, this.ties.ticker.nowMs());
    }
    this.store.tellShut(decision.gate);
    return decision;
  }

  hearGate(state: GateState): void {
    if (!state.isTrying) this.store.startedHeartbeat?.endProbe();
    this.#queue?.hear(state);
  }

  /** Ends all waits: the application is closing. */
  close(reason: unknown): void {
    this.#queue?.close(reason);
    this.store.startedHeartbeat?.stop();
  }

  /** Forgets the queue when nobody is in it. */
  closeIdleQueue(): void {
    if (this.#queue?.isIdle) this.#queue = undefined;
  }

  #join(): DomainQueue {
    return (this.#queue ??= new DomainQueue(this.store, this.#permits, this.ties));
  }
}

function isTurnNow({ allowed, waitUs, gate }: Decision): boolean {
  return allowed && waitUs === 0 && !gate?.isProbe;
}
