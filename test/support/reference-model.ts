import type { Limit } from '../../lib/core/limit-store.js';
import type {
  ConcurrencyPlan,
  Plan,
  SlidingWindowPlan,
  TokenBucketPlan,
} from '../../lib/core/plan.js';

/** What an exact limit says. */
export interface ExactLimitAnswer {
  readonly admits: boolean;
  /** The first moment at which the cost is admitted, in µs from now; Infinity for never. */
  readonly waitUs: number;
  /** The same wait, had every rounding of doubles gone in favour of the request. */
  readonly earliestUs: number;
  /** The same wait, had they all gone against it. */
  readonly latestUs: number;
}

/** What an exact chain says. */
export interface ExactAnswer {
  readonly allowed: boolean;
  /** Infinity for never. */
  readonly waitUs: number;
  readonly limits: readonly ExactLimitAnswer[];
}

/** A fraction of whole numbers, the denominator above zero. */
export class Exact {
  constructor(
    readonly numerator: bigint,
    readonly denominator = 1n,
  ) {}

  /** The very value of a double, not the decimal that it was written as. */
  static of(value: number): Exact {
    let denominator = 1n;
    let scaled = value;
    // Doubling a double is exact.
    while (!Number.isInteger(scaled)) {
      scaled *= 2;
      denominator *= 2n;
    }
    return new Exact(BigInt(scaled), denominator);
  }

  plus(other: Exact): Exact {
    if (this.denominator === other.denominator) {
      return new Exact(this.numerator + other.numerator, this.denominator);
    }
    return new Exact(
      this.numerator * other.denominator + other.numerator * this.denominator,
      this.denominator * other.denominator,
    );
  }

  minus(other: Exact): Exact {
    return this.plus(new Exact(-other.numerator, other.denominator));
  }

  times(other: Exact): Exact {
    return new Exact(this.numerator * other.numerator, this.denominator * other.denominator);
  }

  /** Divides by a value above zero. */
  over(other: Exact): Exact {
    return new Exact(this.numerator * other.denominator, this.denominator * other.numerator);
  }

  atLeast(other: Exact): boolean {
    return this.numerator * other.denominator >= other.numerator * this.denominator;
  }

  atMost(most: Exact): Exact {
    return this.atLeast(most) ? most : this;
  }

  /** The same value in lowest terms, so that what is kept does not grow. */
  reduced(): Exact {
    let [a, b] = [this.numerator < 0n ? -this.numerator : this.numerator, this.denominator];
    while (b > 0n) [a, b] = [b, a % b];
    return new Exact(this.numerator / a, this.denominator / a);
  }
}

/** What every comparison tolerates by design: the double nearest to a billionth of a token. */
const TOLERANCE = Exact.of(1e-9);

/** Half the gap between 1 and the next double: the largest relative error of one operation. */
const ROUNDING = 2 ** -53;

/** How the roundings of doubles fell: all for the request (1), all against it (−1), or none (0). */
type Luck = 1 | 0 | -1;

/** One limit, without an error. */
interface ExactCounter<P extends Plan> {
  admits(plan: P, cost: number, nowUs: number, luck: Luck): boolean;
  /** A moment at which any cost up to the quota is admitted, whatever the luck. */
  settledUs(plan: P, nowUs: number): number;
  spend(plan: P, cost: number, nowUs: number, leaseId: string): void;
}

class ExactBucket implements ExactCounter<TokenBucketPlan> {
  #tokens: Exact;
  #updatedUs: number;
  /** Charges since the bucket was full, each of which may have been rounded. */
  #charges = 0;

  constructor(plan: TokenBucketPlan, nowUs: number) {
    this.#tokens = Exact.of(plan.quota);
    this.#updatedUs = nowUs;
  }

  admits(plan: TokenBucketPlan, cost: number, nowUs: number, luck: Luck): boolean {
    const refilled = this.#refilledAt(plan, nowUs).plus(Exact.of(luck * this.#error(plan)));
    // A bucket that overflows holds its capacity and no rounding: the error is below the rim.
    return refilled.atMost(Exact.of(plan.quota)).plus(TOLERANCE).atLeast(Exact.of(cost));
  }

  settledUs(plan: TokenBucketPlan, nowUs: number): number {
    const rim = Exact.of(plan.quota).plus(Exact.of(this.#error(plan)));
    const missing = rim.minus(this.#refilledAt(plan, nowUs).atMost(rim));
    const { numerator, denominator } = missing.over(ratePerUs(plan));
    return nowUs + Number(numerator / denominator) + 1;
  }

  spend(plan: TokenBucketPlan, cost: number, nowUs: number): void {
    const quota = Exact.of(plan.quota);
    const refilled = this.#refilledAt(plan, nowUs);
    // Only a bucket that overflows even when all went against it has forgotten its roundings.
    const overflows = refilled.minus(Exact.of(this.#error(plan))).atLeast(quota);
    this.#charges = overflows ? 1 : this.#charges + 1;
    this.#tokens = refilled.atMost(quota).minus(Exact.of(cost)).reduced();
    this.#updatedUs = nowUs;
  }

  /**
   * How far off doubles can be, in tokens. Refilling multiplies, divides and adds, then a charge
   * subtracts and a comparison adds the tolerance: four roundings for each, of values that are
   * never above the capacity.
   */
  #error(plan: TokenBucketPlan): number {
    return 4 * (this.#charges + 1) * plan.quota * ROUNDING;
  }

  #refilledAt(plan: TokenBucketPlan, nowUs: number): Exact {
    return this.#tokens.plus(Exact.of(nowUs - this.#updatedUs).times(ratePerUs(plan)));
  }
}

class ExactWindow implements ExactCounter<SlidingWindowPlan> {
  #startUs: number;
  #current = 0;
  #previous = 0;

  constructor(_plan: SlidingWindowPlan, nowUs: number) {
    this.#startUs = nowUs;
  }

  admits(plan: SlidingWindowPlan, cost: number, nowUs: number, luck: Luck): boolean {
    const { startUs, current, previous } = this.#at(plan, nowUs);
    const overlapUs = plan.windowUs - (nowUs - startUs);
    const share = new Exact(BigInt(previous) * BigInt(overlapUs), BigInt(plan.windowUs));
    // The share is multiplied and divided, what is free is whole until the tolerance is added, and
    // where the answer turns they are equal: three roundings of the share.
    const error = share.times(Exact.of(luck * 3 * ROUNDING));
    const free = Exact.of(plan.quota - cost - current);
    return free.plus(TOLERANCE).plus(error).atLeast(share);
  }

  settledUs(plan: SlidingWindowPlan): number {
    return this.#startUs + 2 * plan.windowUs;
  }

  spend(plan: SlidingWindowPlan, cost: number, nowUs: number): void {
    const { startUs, current, previous } = this.#at(plan, nowUs);
    this.#startUs = startUs;
    this.#current = current + cost;
    this.#previous = previous;
  }

  #at({ windowUs }: SlidingWindowPlan, nowUs: number) {
    const windows = Math.floor((nowUs - this.#startUs) / windowUs);
    if (windows >= 2) return { startUs: nowUs, current: 0, previous: 0 };
    return windows === 1
      ? { startUs: this.#startUs + windowUs, current: 0, previous: this.#current }
      : { startUs: this.#startUs, current: this.#current, previous: this.#previous };
  }
}

class ExactLeases implements ExactCounter<ConcurrencyPlan> {
  readonly #endsUs = new Map<string, number>();

  admits(plan: ConcurrencyPlan, _cost: number, nowUs: number): boolean {
    return this.#held(nowUs) < plan.quota;
  }

  settledUs(_plan: ConcurrencyPlan, nowUs: number): number {
    return Math.max(nowUs, ...this.#endsUs.values());
  }

  spend(plan: ConcurrencyPlan, _cost: number, nowUs: number, leaseId: string): void {
    this.#endsUs.set(leaseId, nowUs + plan.leaseUs);
  }

  release(leaseId: string): void {
    this.#endsUs.delete(leaseId);
  }

  #held(nowUs: number): number {
    return [...this.#endsUs.values()].filter((endsUs) => endsUs > nowUs).length;
  }
}

/**
 * The three kinds of limits and their chains in whole numbers and fractions: slow, and right. It
 * has no formula for a wait. It looks for the first microsecond at which the comparison holds.
 */
export class ReferenceModel {
  readonly #counters = new Map<string, { kind: Plan['kind']; counter: ExactCounter<Plan> }>();

  /** What the chain says now. */
  peek(limits: readonly Limit[], nowUs: number): ExactAnswer {
    const answers = limits.map((limit) => this.#examine(limit, nowUs));
    const denials = answers.filter(({ admits }, i) => !admits && !limits[i]!.plan.shadow);
    return {
      allowed: denials.length === 0,
      waitUs: Math.max(0, ...denials.map(({ waitUs }) => waitUs)),
      limits: answers,
    };
  }

  /** Spends on every limit that admits, when all of them but the shadows do. */
  take(limits: readonly Limit[], leaseId: string, nowUs: number): ExactAnswer {
    const answer = this.peek(limits, nowUs);
    const admitting = limits.filter((_, i) => answer.limits[i]!.admits);
    if (answer.allowed) this.spend(admitting, leaseId, nowUs);
    return answer;
  }

  /** Spends without asking. */
  spend(limits: readonly Limit[], leaseId: string, nowUs: number): void {
    for (const { plan, key, cost } of limits) {
      const counter = this.#counterOf(plan, key, nowUs);
      this.#counters.set(nameOf(plan, key), { kind: plan.kind, counter });
      counter.spend(plan, cost, nowUs, leaseId);
    }
  }

  release({ plan, key }: Limit, leaseId: string): void {
    const counter = this.#counters.get(nameOf(plan, key))?.counter;
    if (counter instanceof ExactLeases) counter.release(leaseId);
  }

  #examine({ plan, key, cost }: Limit, nowUs: number): ExactLimitAnswer {
    const counter = this.#counterOf(plan, key, nowUs);
    if (plan.kind !== 'concurrency' && cost > plan.quota) {
      return { admits: false, waitUs: Infinity, earliestUs: Infinity, latestUs: Infinity };
    }
    if (counter.admits(plan, cost, nowUs, -1)) {
      return { admits: true, waitUs: 0, earliestUs: 0, latestUs: 0 };
    }
    const settledUs = counter.settledUs(plan, nowUs);
    const waitUs = (luck: Luck) =>
      firstMoment(nowUs, settledUs, (us) => counter.admits(plan, cost, us, luck)) - nowUs;
    const exactUs = waitUs(0);
    return {
      admits: exactUs === 0,
      waitUs: exactUs,
      earliestUs: waitUs(1),
      latestUs: waitUs(-1),
    };
  }

  #counterOf(plan: Plan, key: string, nowUs: number): ExactCounter<Plan> {
    const known = this.#counters.get(nameOf(plan, key));
    return known?.kind === plan.kind ? known.counter : newCounter(plan, nowUs);
  }
}

/** Halves the time until the moment is found: what is admitted once stays so while nobody spends. */
function firstMoment(fromUs: number, toUs: number, admits: (us: number) => boolean): number {
  if (admits(fromUs)) return fromUs;
  let denied = fromUs;
  let admitted = Math.max(toUs, fromUs + 1);
  if (!admits(admitted)) throw new Error('The moment that was to be searched for lies further on.');
  while (admitted - denied > 1) {
    const middle = denied + Math.floor((admitted - denied) / 2);
    if (admits(middle)) admitted = middle;
    else denied = middle;
  }
  return admitted;
}

function ratePerUs({ refill, periodUs }: TokenBucketPlan): Exact {
  return Exact.of(refill).over(Exact.of(periodUs));
}

function newCounter(plan: Plan, nowUs: number): ExactCounter<Plan> {
  switch (plan.kind) {
    case 'token-bucket':
      return new ExactBucket(plan, nowUs);
    case 'sliding-window':
      return new ExactWindow(plan, nowUs);
    case 'concurrency':
      return new ExactLeases();
    default:
      return plan;
  }
}

function nameOf(plan: Plan, key: string): string {
  return JSON.stringify([plan.name, key]);
}
