import { isPending } from '../core/awaitable.js';
import type { GateView } from '../core/gate.js';
import { lentBy } from '../core/lent-slots.js';
import type { Decision } from '../core/limit-store.js';
import type { TokenBucketPlan } from '../core/plan.js';
import type { DomainStore } from './domain-store.js';
import type { Turn } from './turn.js';
import { isLate } from './turn.js';
import type { WaiterLine } from './waiter-line.js';

/** A plan of turns, as a gate numbers them. */
type TurnPlan = Pick<GateView, 'generation' | 'cutUs'>;

/**
 * The turns that this process has booked at a domain, the next one first, and the plan that they
 * belong to: a new plan makes void whatever was due later than its cut.
 */
export class TurnBook {
  #turns: Turn[] = [];
  #plan: TurnPlan = { generation: 0, cutUs: 0 };

  constructor(private readonly store: DomainStore) {}

  get size(): number {
    return this.#turns.length;
  }

  get first(): Turn | undefined {
    return this.#turns[0];
  }

  /** The number of the plan. */
  get generation(): number {
    return this.#plan.generation;
  }

  /** Turns come nearly in order: a place is found from the end. */
  add(turn: Turn): void {
    let at = this.#turns.length;
    while (at > 0 && this.#turns[at - 1]!.atMs > turn.atMs) at--;
    this.#turns.splice(at, 0, turn);
  }

  takeFirst(): Turn | undefined {
    return this.#turns.shift();
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
    const booked = this.#turns;
    this.#turns = [];
    for (const turn of booked) {
      if (this.isVoid(turn.decision)) this.letGo(turn.decision, turn.leaseId);
      else this.#turns.push(turn);
    }
  }

  /** Gives up turns that came while this process was busy or away. */
  dropLate(nowMs: number, wasAway: boolean): void {
    while (this.#turns[0]?.decision.gate && isLate(this.#turns[0], nowMs, wasAway)) {
      const { decision, leaseId } = this.takeFirst()!;
      this.letGo(decision, leaseId);
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

  /** All turns are good, as far as news go that were heard by then. */
  vouchForAll(gaps: number): void {
    for (const turn of this.#turns) turn.gaps = gaps;
  }

  /** Takes out what nobody in the line can use, the latest first: only the last of a line counts. */
  takeSurplus(line: WaiterLine): Turn[] {
    let used = 0;
    let waiter = line.first;
    while (waiter && this.#turns[used]?.tokens === waiter.tokens) {
      used++;
      waiter = waiter.behind;
    }
    return this.#turns.splice(used).reverse();
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

  #giveUpProbe(decision: Decision): void {
    const probeUntilUs = this.store.probeUntilUs(decision);
    if (probeUntilUs === undefined) return;
    // A moment later: whoever hears of it may ask at once, and the book is just being changed.
    queueMicrotask(() => void this.store.tellFree(probeUntilUs));
  }
}
