import type { Counter } from '../core/counter.js';
import type { TokenPlan } from '../core/kept-count.js';
import { countsAlike, newCount, restoresInUs } from '../core/kept-count.js';
import type { Plan, SlidingWindowPlan } from '../core/plan.js';
import { SlidingWindow } from '../core/sliding-window.js';
import { TokenBucket } from '../core/token-bucket.js';

/** A counter, and the definition that was charged last by it. */
interface Count {
  readonly plan: Plan;
  readonly counter: Counter;
}

/** The count of the definition that was not charged last. */
interface OtherCount extends Count {
  /** When it is restored, if its own definition is not charged again. */
  readonly lastsUs: number;
}

/**
 * What is remembered of a limit whose plan has two definitions, as two limiters may have or one while
 * it changes a plan. Each counts what was admitted under both; one that begins has as much room as the
 * other. So neither ever has more room than a bucket of the larger capacity and the larger rate. Kept
 * in step with lua/decide.lua.
 */
export class PlanMix {
  other: OtherCount | undefined;
  /** No definition takes longer to be restored. */
  #restoresInUs = 0;
  #expiresUs = 0;
  /** How fast a bucket refills. Redis knows it only where the bucket was charged beside a window. */
  #bucketPerUs: number | undefined;

  /** Before that, one of the definitions would not be restored. */
  get expiresUs(): number {
    return this.#expiresUs;
  }

  /** The counter of a definition that does not count as that of the last charge does. */
  counterOf(plan: Plan, last: Count, nowUs: number): Counter {
    const { other } = this;
    if (other && countsAlike(other.plan, plan)) return other.counter;
    if (this.isOver(last, nowUs)) return newCount(plan as TokenPlan, nowUs);
    return newCount(plan as TokenPlan, nowUs, this.#roomOf(last, plan as TokenPlan, nowUs));
  }

  /** Goes on with another definition; that of the last charge becomes the other one. */
  adopt(plan: TokenPlan, counter: Counter, last: Count, nowUs: number): void {
    if (counter !== last.counter) {
      if (last.counter instanceof TokenBucket) this.#bucketPerUs ??= perUs(plan);
      const lastsUs = this.#lastsUs(last);
      this.other =
        lastsUs > nowUs ? { plan: last.plan, counter: last.counter, lastsUs } : undefined;
    }
    this.#restoresInUs = Math.max(this.#restoresOf(last), restoresInUs(plan));
  }

  /** Takes the cost from the other count, too. */
  charge(plan: Plan, cost: number, resetUs: number, nowUs: number): void {
    if (this.other && this.other.lastsUs <= nowUs) this.other = undefined;
    if (this.other) this.#chargeOther(this.other, plan as TokenPlan, cost, nowUs);
    else this.#bucketPerUs = undefined;
    this.#expiresUs = Math.max(this.other?.lastsUs ?? 0, nowUs + this.#restoresInUs + resetUs);
  }

  /** To a bucket only a window is another definition. */
  #chargeOther({ counter, plan }: OtherCount, by: TokenPlan, cost: number, nowUs: number): void {
    if (counter instanceof TokenBucket) {
      counter.chargeForWindow(by.quota, this.#bucketPerUs!, cost, nowUs);
      return;
    }
    (counter as SlidingWindow).charge(plan as SlidingWindowPlan, cost, nowUs);
    if (by.kind === 'token-bucket') this.#bucketPerUs = perUs(by);
  }

  #roomOf({ plan, counter }: Count, viewer: TokenPlan, nowUs: number): number {
    return counter instanceof SlidingWindow
      ? counter.room(plan as SlidingWindowPlan, nowUs)
      : (counter as TokenBucket).room(this.#bucketPerUs ?? perUs(viewer), nowUs);
  }

  /** Whether the limit is restored, as if it had been forgotten. */
  isOver(last: Count, nowUs: number): boolean {
    const owes = last.counter instanceof TokenBucket && last.counter.owes;
    return !owes && this.#lastsUs(last) <= nowUs;
  }

  #lastsUs(last: Count): number {
    const { counter, plan } = last;
    return counter instanceof SlidingWindow
      ? counter.restoredUs(plan as SlidingWindowPlan, this.#restoresOf(last))
      : (counter as TokenBucket).restoredUs(this.#restoresOf(last));
  }

  #restoresOf({ plan }: Count): number {
    return this.#restoresInUs || restoresInUs(plan as TokenPlan);
  }
}

function perUs(plan: TokenPlan): number {
  return plan.kind === 'token-bucket' ? plan.refill / plan.periodUs : plan.quota / plan.windowUs;
}
