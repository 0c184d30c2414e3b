import type { Awaitable } from '../core/awaitable.js';
import { isPending } from '../core/awaitable.js';
import type { Decision, Inquiry, LimitStore, Return } from '../core/limit-store.js';
import { StoreAround } from '../core/store-around.js';
import { decisionMessage } from './decision-message.js';
import type { DecisionMessage } from './channels.js';
import type { Topic } from './topics.js';
import type { Tally } from './tally.js';

/**
 * Counts what is decided, for all who ask: one place outside of all other stores, so that it sees the
 * answers as callers get them. Outbound calls are counted where they wait: they may ask many times
 * before they have their permit.
 */
export class ObservedStore extends StoreAround {
  override readonly answersAtOnce: boolean;

  constructor(
    store: LimitStore,
    private readonly tally: Tally,
    private readonly topic: Topic<DecisionMessage>,
  ) {
    super(store);
    this.answersAtOnce = store.answersAtOnce;
  }

  override decide(inquiry: Inquiry): Awaitable<Decision> {
    const deciding = this.store.decide(inquiry);
    if (!isPlain(inquiry, deciding) || this.topic.isHeard) return this.note(inquiry, deciding);
    this.tally.countAllowed(deciding.limits);
    return deciding;
  }

  override witness(decision: Decision): void {
    this.tally.countClosed(decision);
    if (this.topic.isHeard && !decision.allowed) {
      this.topic.publish(decisionMessage(decision, 'take'));
    }
    super.witness(decision);
  }

  override giveBack(returned: Return): Awaitable<boolean> {
    const giving = super.giveBack(returned);
    if (returned.kind === 'refund') this.tally.countRefund(returned.limits);
    return giving;
  }

  private note(inquiry: Inquiry, deciding: Awaitable<Decision>): Awaitable<Decision> {
    if (!isRequest(inquiry)) return deciding;
    return isPending(deciding)
      ? deciding.then((decision) => this.count(inquiry, decision))
      : this.count(inquiry, deciding);
  }

  private count(inquiry: Inquiry, decision: Decision): Decision {
    this.tally.countOther(inquiry, decision);
    if (this.topic.isHeard) this.topic.publish(decisionMessage(decision, inquiry.mode));
    return decision;
  }
}

/** A request that may pass at once, as it is known without waiting: a promise is not allowed. */
function isPlain(inquiry: Inquiry, deciding: Awaitable<Decision>): deciding is Decision {
  const { allowed, failure } = deciding as Decision;
  if (allowed !== true || failure !== undefined) return false;
  return inquiry.mode === 'take' && inquiry.isBookkeeping === undefined;
}

function isRequest({ mode, gate, isBookkeeping }: Inquiry): boolean {
  return mode !== 'peek' && gate === undefined && isBookkeeping !== true;
}
