import { isPending } from '../core/awaitable.js';
import type { GateView } from '../core/gate.js';
import { lentBy } from '../core/lent-slots.js';
import type { Decision } from '../core/limit-store.js';
import type { TokenBucketPlan } from '../core/plan.js';
import type { CostTally } from './cost-tally.js';
import type { DomainStore } from './domain-store.js';
import type { Turn, Vouched } from './turn.js';
import { isLate } from './turn.js';
import { TurnRow } from './turn-row.js';
import type { Waiter } from './waiter.js';

/** A plan of turns, as a gate numbers them. */
type TurnPlan = Pick<GateView, 'generation' | 'cutUs'>;

/** Turns that are booked anew after one in their midst, so that nothing of the rate is lost. */
const MOST_REBOOKED = 100;

/**
 * The turns that this process has booked at a domain, the next one first, and the plan that they
 * belong to: a new plan makes void whatever was due later than its cut.
 */
export class TurnBook {
  #row = new TurnRow();
  #plan: TurnPlan = { generation: 0, cutUs: 0 };
  #vouched: Vouched = { atMs: 0, gaps: 0 };
  #hasDropped = false;

  constructor(
    private readonly store: DomainStore,
    private readonly costs: CostTally,
  ) {}

  get size(): number {
    return this.#row.size;
  }

  get first(): Turn | undefined {
    return this.#row.at(0);
  }

  /** When all turns were last known to be good. */
  get vouched(): Vouched {
    return this.#vouched;
  }

  /** The number of the plan. */
  get generation(): number {
    return this.#plan.generation;
  }

  at(index: number): Turn | undefined {
    return this.#row.at(index);
  }

  noticeDropped(): boolean {
    const hasDropped = this.#hasDropped;
    this.#hasDropped = false;
    return hasDropped;
  }

  /** Adds a turn; tells whether it is the last. */
  add(turn: Turn): boolean {
    this.costs.add(turn.tokens);
    return this.#row.add(turn);
  }

  takeFirst(): Turn | undefined {
    const turn = this.#row.takeFirst();
    if (turn) this.costs.remove(turn.tokens);
    return turn;
  }

  /** Takes note of the plan in an answer; tells whether the answer is older than what is known. */
  learn(plan: TurnPlan, generationBefore: number): boolean {
    const { generation } = this.#plan;
    if (plan.generation === generation) return false;
    // A plan that was heard of while the question was under way is newer than the answer.
    if (plan.generation < generation && generation !== generationBefore) return true;
    // A gate that has forgotten its plan has not forgotten the turns.
    this.adopt(plan.generation < generation ? { ...plan, cutUs: Infinity } : plan);
    return false;
  }

  /** A new plan: turns that are void by it are dropped, to be booked anew. */
  adopt({ generation, cutUs }: TurnPlan): void {
    this.#plan = { generation, cutUs };
    const kept = new TurnRow();
    for (const turn of this.#row.takeFrom(0)) {
      if (this.isVoid(turn.decision)) this.#drop(turn);
      else kept.add(turn);
    }
    this.#row = kept;
  }

  /** Gives up turns that came while this process was busy or away. */
  dropLate(nowMs: number, wasAway: boolean): void {
    while (this.first?.decision.gate && isLate(this.first, nowMs, wasAway)) {
      this.#drop(this.#row.takeFirst()!);
    }
  }

  /** Where there is no gate there is no plan either. */
  isVoid({ gate, atUs, waitUs }: Decision): boolean {
    const { generation, cutUs } = this.#plan;
    return gate !== undefined && gate.generation !== generation && atUs + waitUs > cutUs;
  }

  /** A turn that is void owes no tokens, but it may hold a slot, or others may wait for it. */
  letGo(decision: Decision, leaseId: string): void {
    this.#giveUpProbe(decision);
    const limits = lentBy(decision);
    if (limits.length === 0) return;
    const released = this.store.giveBack({ kind: 'release', limits, leaseId });
    if (isPending(released)) released.catch(() => undefined);
  }

  /** All turns that there were at a time are good, as far as news go that were heard by then. */
  vouchForAll(vouched: Vouched): void {
    this.#vouched = vouched;
  }

  /** Takes out all turns from there on, the latest first: only the last of a queue counts. */
  takeFrom(index: number): Turn[] {
    const taken = this.#row.takeFrom(index).reverse();
    for (const { tokens } of taken) this.costs.remove(tokens);
    return taken;
  }

  /**
   * Looks at all, and takes out what nobody in the line can use, the latest first. Where few are
   * behind the first of those, they are taken out as well: booked anew, they come sooner.
   */
  takeUnused(first: Waiter | undefined): Turn[] {
    const [kept, unused]: [Turn[], Turn[]] = [[], []];
    let firstUnused = Number.POSITIVE_INFINITY;
    let waiter = first;
    for (const turn of this.takeFrom(0).reverse()) {
      if (waiter?.canUse(turn)) {
        kept.push(turn);
        waiter = waiter.behind;
      } else {
        firstUnused = Math.min(firstUnused, kept.length);
        unused.push(turn);
      }
    }
    const isShort = kept.length - firstUnused <= MOST_REBOOKED;
    if (isShort) unused.push(...kept.splice(firstUnused));
    for (const turn of kept) this.add(turn);
    return unused.sort((one, other) => other.atMs - one.atMs);
  }

  /** Gives turns back that were taken out; answers for how long nobody will use the bucket now. */
  async giveBack(turns: readonly Turn[], plan: TokenBucketPlan): Promise<number> {
    // All at once, so that they arrive before whatever is asked next.
    const giving = turns.map(async ({ decision, leaseId }) =>
      this.store.giveBack({ kind: 'cancel', decision, leaseId }),
    );
    const cameBack = await Promise.all(giving);
    let wastedTokens = 0;
    turns.forEach(({ decision, tokens }, i) => {
      this.#giveUpProbe(decision);
      // What an earlier plan wasted is over with it.
      const isOurs = decision.gate?.generation === this.generation;
      if (!cameBack[i] && isOurs) wastedTokens += tokens;
    });
    return Math.round((wastedTokens * plan.periodUs) / plan.refill);
  }

  #drop({ tokens, decision, leaseId }: Turn): void {
    this.#hasDropped = true;
    this.costs.remove(tokens);
    this.letGo(decision, leaseId);
  }

  #giveUpProbe(decision: Decision): void {
    const probeUntilUs = this.store.probeUntilUs(decision);
    if (probeUntilUs === undefined) return;
    // A moment later: whoever hears of it may ask at once, and the book is just being changed.
    queueMicrotask(() => void this.store.tellFree(probeUntilUs));
  }
}
