import type { Awaitable } from './awaitable.js';
import type { Gate, GateChange, GateListener, GateState, GateWatch } from './gate.js';
import type { Decision, HeldLease, Inquiry, Limit, Return } from './limit-store.js';
import { LimitStore } from './limit-store.js';

/** A store around another one, which it asks for everything that it does not do itself. */
export abstract class StoreAround extends LimitStore {
  constructor(protected readonly store: LimitStore) {
    super();
  }

  override decide(inquiry: Inquiry): Awaitable<Decision> {
    return this.store.decide(inquiry);
  }

  override witness(decision: Decision): void {
    this.store.witness(decision);
  }

  override giveBack(returned: Return): Awaitable<boolean> {
    return this.store.giveBack(returned);
  }

  override renew(leases: readonly HeldLease[]): Awaitable<readonly boolean[]> {
    return this.store.renew(leases);
  }

  override reset(limits: readonly Limit[]): Awaitable<void> {
    return this.store.reset(limits);
  }

  override changeGate(change: GateChange): Awaitable<GateState> {
    return this.store.changeGate(change);
  }

  override lookAtGate(gate: Gate): Awaitable<GateState> {
    return this.store.lookAtGate(gate);
  }

  override watchGates(listener: GateListener, onLive?: () => void): GateWatch {
    return this.store.watchGates(listener, onLive);
  }

  override close(): Awaitable<void> {
    return this.store.close();
  }
}

/** The limits that something is given back to. */
export function limitsOf(returned: Return): readonly Limit[] {
  return returned.kind === 'cancel'
    ? returned.decision.limits.map(({ limit }) => limit)
    : returned.limits;
}
