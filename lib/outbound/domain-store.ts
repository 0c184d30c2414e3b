import type { Awaitable } from '../core/awaitable.js';
import { isPending } from '../core/awaitable.js';
import type { Gate, GateState, GateView } from '../core/gate.js';
import type { Decision, Inquiry, Return } from '../core/limit-store.js';
import type { TokenBucketPlan } from '../core/plan.js';
import { Heartbeat } from './heartbeat.js';
import type { DomainLimits, QueueTies } from './queue-ties.js';
import type { CompleteThrottleRule } from './throttle-rule.js';

/** Longest that is booked ahead: ten years. */
const MAX_WAIT_US = 315_360_000_000_000;

/** A domain with its rules, as they are at the moment. */
export interface RuledDomain {
  readonly name: string;
  readonly limits: DomainLimits;
  readonly throttle: CompleteThrottleRule;
  /** Hears what became of its gate. */
  hearGate(state: GateState): void;
}

/** A question, and what came back. */
export interface Answered {
  readonly inquiry: Inquiry;
  readonly decision: Decision;
}

/** The store as a domain needs it: everything that is asked of it is about that one domain. */
export class DomainStore {
  #heartbeat: Heartbeat | undefined;
  #lookingAfter: Promise<boolean> | undefined;

  constructor(
    private readonly domain: RuledDomain,
    private readonly ties: QueueTies,
  ) {}

  get name(): string {
    return this.domain.name;
  }

  get limits(): DomainLimits {
    return this.domain.limits;
  }

  get plan(): TokenBucketPlan {
    return this.limits.bucket.plan as TokenBucketPlan;
  }

  get gate(): Gate {
    const { name, throttle } = this.domain;
    return { key: name, probeUs: throttle.probeTimeoutMs * 1_000, holder: this.ties.holder };
  }

  /** Made when first needed. */
  get heartbeat(): Heartbeat {
    return (this.#heartbeat ??= new Heartbeat(this, this.ties.ticker));
  }

  /** The same, if there was need for one. */
  get startedHeartbeat(): Heartbeat | undefined {
    return this.#heartbeat;
  }

  /** What a change of the gate names besides what happened. */
  get atGate() {
    const { gate, limits, domain } = this;
    return { gate, bucket: limits.bucket, memoryUs: domain.throttle.memoryMs * 1_000 };
  }

  /** The question for one turn. */
  inquiry(tokens: number, maxWaitMs: number): Inquiry {
    const { bucket, slots } = this.limits;
    const paid = tokens === bucket.cost ? bucket : { ...bucket, cost: tokens };
    return {
      limits: slots ? [slots, paid] : [paid],
      mode: 'reserve',
      maxWaitUs: Math.max(0, Math.floor(Math.min(maxWaitMs * 1_000, MAX_WAIT_US))),
      leaseId: slots ? this.ties.newLeaseId() : '',
      gate: this.gate,
    };
  }

  /** Who is refused because of a process that has died since is asked for again. */
  decide(inquiry: Inquiry): Awaitable<Decision> {
    const deciding = this.ties.store.decide(inquiry);
    return isPending(deciding)
      ? deciding.then((decision) => this.#orAgain(decision, inquiry))
      : deciding;
  }

  giveBack(returned: Return): Awaitable<boolean> {
    return this.ties.store.giveBack(returned);
  }

  look(): Awaitable<GateState> {
    return this.ties.store.lookAtGate(this.gate);
  }

  /** This process is alive, with turns up to then; 0 for none, undefined to look after others only. */
  async beat(dueUs: number | undefined): Promise<GateState> {
    const { slots } = this.limits;
    const change = { kind: 'beat', ...this.atGate, dueUs, slots } as const;
    const state = await this.ties.store.changeGate(change);
    this.domain.hearGate(state);
    return state;
  }

  /** Time was wasted, or the limits have changed: makes a new plan of turns if it is worth it. */
  async replan(wastedUs: number, always: boolean): Promise<void> {
    const change = { kind: 'replan', ...this.atGate, wastedUs, always } as const;
    const state = await this.ties.store.changeGate(change);
    if (state.changed) this.domain.hearGate(state);
  }

  /**
   * Tells that a slot is free, or that a probe is not made: all processes alike, this one included,
   * or whoever frees a slot would always get it.
   */
  async tellFree(probeUntilUs?: number): Promise<void> {
    const { store, watch } = this.ties;
    try {
      const state = await store.changeGate({ kind: 'free', ...this.atGate, probeUntilUs });
      if (!watch.isLive) this.domain.hearGate(state);
    } catch {
      // Whoever waits tries again: soon for a slot, for a probe when it is taken for lost.
    }
  }

  /** Until when all wait for what a probe finds, by the decision that let it pass. */
  probeUntilUs({ gate, atUs, waitUs }: Decision): number | undefined {
    return gate?.isProbe ? atUs + waitUs + this.gate.probeUs : undefined;
  }

  #orAgain(decision: Decision, inquiry: Inquiry): Awaitable<Decision> {
    if (decision.allowed || !decision.gate?.isOverdue) return decision;
    return this.#lookAfterOthers().then((hasChanged) =>
      hasChanged ? this.ties.store.decide(inquiry) : decision,
    );
  }

  /** Many may be refused at once: together they cost one look. */
  #lookAfterOthers(): Promise<boolean> {
    this.#lookingAfter ??= this.beat(undefined)
      .then(
        ({ changed }) => changed,
        () => false,
      )
      .finally(() => (this.#lookingAfter = undefined));
    return this.#lookingAfter;
  }

  /** Tells of a cooldown only: what a probe finds is told by whoever sent it. */
  tellShut(view: GateView | undefined): void {
    if (!view || view.waitUs === 0 || view.isTried) return;
    this.ties.onShut(this.name, { blocks: view.blocks, cooldownUs: view.waitUs });
  }
}
