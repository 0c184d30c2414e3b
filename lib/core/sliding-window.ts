import type { TokenCounter } from './counter.js';
import { EPSILON, NEVER } from './counter.js';
import type { SlidingWindowPlan } from './plan.js';
import type { Spent } from './spent.js';

/**
 * Counts of the current and the previous window. What happened in the last window's length is
 * estimated as all of the current one plus the share of the previous one that it still overlaps,
 * as if the previous one had been spent evenly. Constant size, whatever the limit; a burst at the
 * end of one window can let just under twice the limit through within one length.
 */
export class SlidingWindow implements TokenCounter<SlidingWindowPlan> {
  readonly kind = 'sliding-window';
  #startUs: number;
  #current: number;
  #previous: number;

  /**
   * An untouched window starts with its first request. What one that begins lacks of its limit fades as
   * what was counted in the window before.
   */
  constructor(plan: SlidingWindowPlan, nowUs: number, room = plan.quota) {
    this.#startUs = nowUs;
    this.#previous = plan.quota - Math.max(room, 0);
    this.#current = Math.ceil(Math.max(-room, 0));
  }

  /** When nothing is counted any more, or later if that is to last longer from the last charge. */
  restoredUs({ windowUs }: SlidingWindowPlan, restoresInUs: number): number {
    return this.#startUs + windowUs + Math.max(windowUs, restoresInUs);
  }

  /** What is left; nothing where more was counted than the limit. */
  room(plan: SlidingWindowPlan, nowUs: number): number {
    const { startUs, current, previous } = this.#at(plan, nowUs);
    return Math.max(0, plan.quota - current - fading(plan, previous, nowUs - startUs));
  }

  waitUs(plan: SlidingWindowPlan, cost: number, nowUs: number): number {
    if (this.#admits(plan, cost, nowUs)) return 0;
    if (cost > plan.quota) return NEVER;
    return this.#dueUs(plan, cost, nowUs) - nowUs;
  }

  remaining(plan: SlidingWindowPlan, nowUs: number): number {
    const { startUs, current, previous } = this.#at(plan, nowUs);
    const rest = fading(plan, previous, nowUs - startUs);
    return Math.max(0, plan.quota - current - Math.ceil(rest - EPSILON));
  }

  resetUs(plan: SlidingWindowPlan, nowUs: number): number {
    const { startUs, current, previous } = this.#at(plan, nowUs);
    if (current > 0) return startUs + 2 * plan.windowUs - nowUs;
    return previous > 0 ? startUs + plan.windowUs - nowUs : 0;
  }

  charge(plan: SlidingWindowPlan, tokens: number, nowUs: number): void {
    this.#roll(plan, nowUs);
    this.#current += tokens;
  }

  /**
   * Takes back from the window in which the tokens were counted, if that is not over. A credit, of
   * which nobody knows when it was spent, comes from the current window and then the previous one.
   */
  refund(plan: SlidingWindowPlan, { tokens, atUs }: Spent, nowUs: number): boolean {
    this.#roll(plan, nowUs);
    const isOfCurrent = atUs === undefined || atUs >= this.#startUs;
    const isOfPrevious =
      atUs === undefined || (!isOfCurrent && atUs >= this.#startUs - plan.windowUs);
    const fromCurrent = isOfCurrent ? Math.min(tokens, this.#current) : 0;
    const fromPrevious = isOfPrevious ? Math.min(tokens - fromCurrent, this.#previous) : 0;
    this.#current -= fromCurrent;
    this.#previous -= fromPrevious;
    return fromCurrent + fromPrevious > 0;
  }

  /** Compares the fading rest with what is free, not sums: near a large limit those are coarse. */
  #admits(plan: SlidingWindowPlan, cost: number, nowUs: number): boolean {
    const { startUs, current, previous } = this.#at(plan, nowUs);
    return fading(plan, previous, nowUs - startUs) <= plan.quota - cost - current + EPSILON;
  }

  /** The first microsecond at which the cost is admitted, settled like that of the token bucket. */
  #dueUs(plan: SlidingWindowPlan, cost: number, nowUs: number): number {
    let dueUs = Math.max(nowUs + 1, this.#solve(plan, cost, nowUs));
    while (!this.#admits(plan, cost, dueUs)) dueUs++;
    while (dueUs > nowUs + 1 && this.#admits(plan, cost, dueUs - 1)) dueUs--;
    return dueUs;
  }

  #solve(plan: SlidingWindowPlan, cost: number, nowUs: number): number {
    const { startUs, current, previous } = this.#at(plan, nowUs);
    const { quota, windowUs } = plan;
    const free = quota - cost - current;
    // Either the previous window only has to fade, or this one has to become the previous first.
    return free >= 0
      ? startUs + Math.ceil(windowUs - ((free + EPSILON) * windowUs) / previous)
      : startUs + windowUs + Math.ceil(windowUs - ((quota - cost + EPSILON) * windowUs) / current);
  }

  #at(plan: SlidingWindowPlan, nowUs: number) {
    const elapsedUs = nowUs - this.#startUs;
    const startUs = this.#startUs;
    if (elapsedUs < plan.windowUs) {
      return { startUs, current: this.#current, previous: this.#previous };
    }
    return elapsedUs < 2 * plan.windowUs
      ? { startUs: startUs + plan.windowUs, current: 0, previous: this.#current }
      : { startUs: nowUs, current: 0, previous: 0 };
  }

  #roll(plan: SlidingWindowPlan, nowUs: number): void {
    const { startUs, current, previous } = this.#at(plan, nowUs);
    this.#startUs = startUs;
    this.#current = current;
    this.#previous = previous;
  }
}

/** What is still counted of the previous window, a while into the current one. */
function fading({ windowUs }: SlidingWindowPlan, previous: number, elapsedUs: number): number {
  return (previous * (windowUs - Math.max(0, elapsedUs))) / windowUs;
}
