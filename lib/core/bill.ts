import { MAX_PERIOD_MS, planFromRate } from './define-plan.js';
import { InvalidOptionError } from './errors.js';
import type { Decision, Inquiry, Limit, LimitDecision, LimitStore } from './limit-store.js';

/** As far ahead as can be booked: what was spent is spent, however long it takes to come back. */
const ANY_WAIT_US = MAX_PERIOD_MS * 1_000;

/** What a decision has charged, until it is settled. Every part is settled once. */
export class Bill {
  readonly #open: Limit[];

  constructor(
    private readonly decision: Decision,
    private readonly store: LimitStore,
  ) {
    const charged = decision.allowed ? decision.limits.filter(isCharged) : [];
    this.#open = charged.map(({ limit }) => limit);
  }

  /** Makes it that plan's actual cost: gives back what was too much, or charges the rest. */
  async settle(plan: string, tokens: number): Promise<void> {
    if (!Number.isSafeInteger(tokens) || tokens < 0) {
      throw new InvalidOptionError('tokens', 'a whole number from 0 up', tokens);
    }
    const name = planFromRate(plan)?.name ?? plan;
    const charged = this.#open.filter((limit) => limit.plan.name === name);
    const closed = charged.map((limit) => this.#close(limit)!);
    await Promise.all([
      this.#giveBack(costing(closed, (cost) => cost - tokens)),
      ...costing(closed, (cost) => tokens - cost).map((limit) => this.#charge(limit)),
    ]);
  }

  /** Gives back what was charged for these limits, as far as it was. */
  async refund(limits: readonly Limit[]): Promise<void> {
    await this.#giveBack(limits.flatMap((limit) => this.#close(limit) ?? []));
  }

  /** Ends it as it is. Returns whether nothing had been settled yet. */
  close(): boolean {
    const untouched = this.#open.length === this.decision.limits.filter(isCharged).length;
    this.#open.length = 0;
    return untouched;
  }

  /** Takes a limit off the bill, or the part of it that is asked for. */
  #close({ plan, key, cost }: Limit): Limit | undefined {
    const index = this.#open.findIndex((open) => open.plan.name === plan.name && open.key === key);
    const open = this.#open[index];
    if (!open) return undefined;
    const part = Math.min(cost, open.cost);
    this.#open.splice(index, 1, ...costing([open], (whole) => whole - part));
    return { ...open, cost: part };
  }

  async #giveBack(limits: readonly Limit[]): Promise<void> {
    if (limits.length === 0) return;
    await this.store.giveBack({ kind: 'refund', limits, decision: this.decision });
  }

  /**
   * Each on its own: one that has too little must not keep another from being charged. A bucket goes
   * below zero, at most by what it holds, so that a wrong number costs one bucketful and not a year.
   */
  async #charge(limit: Limit): Promise<void> {
    const cost = Math.min(limit.cost, limit.plan.quota);
    const said = await this.#spend('reserve', { ...limit, cost });
    // A sliding window cannot owe: what is left of it is taken.
    if (!said || said.admits || said.remaining === 0) return;
    await this.#spend('take', { ...limit, cost: said.remaining });
  }

  /** Nobody asks and nobody is denied: it belongs to a request that was counted when it came. */
  async #spend(mode: Inquiry['mode'], limit: Limit): Promise<LimitDecision | undefined> {
    const asked = { limits: [limit], mode, maxWaitUs: ANY_WAIT_US, leaseId: '' };
    const inquiry: Inquiry = { ...asked, isBookkeeping: true };
    return (await this.store.decide(inquiry)).limits[0];
  }
}

/** A shadow plan that said no was not charged, and slots are not tokens. */
function isCharged({ limit, admits }: LimitDecision): boolean {
  return admits && limit.plan.kind !== 'concurrency';
}

/** The limits at another cost, without those that cost nothing then. */
function costing(limits: readonly Limit[], change: (cost: number) => number): Limit[] {
  return limits
    .map((limit) => ({ ...limit, cost: change(limit.cost) }))
    .filter(({ cost }) => cost > 0);
}
