import type { Awaitable } from '../core/awaitable.js';
import { isPending } from '../core/awaitable.js';
import type {
  Decision,
  Inquiry,
  Limit,
  LimitDecision,
  LimitStore,
  Return,
} from '../core/limit-store.js';
import { limitsOf, StoreAround } from '../core/store-around.js';
import { longestWaitUs } from '../core/admission.js';

/** Denials that are remembered; the oldest is forgotten first. */
const MAX_DENIALS = 10_000;

/** Others may refund or reset what was denied here: how long that may go unnoticed. */
const MAX_TRUST_US = 10_000_000;

/** What a limit said no to, and until when it will say the same. */
interface Denial {
  readonly decision: Decision;
  readonly askedUs: number;
  readonly untilUs: number;
}

/**
 * Denies again what was just denied, without asking the store, until the wait it told is over, or ten
 * seconds at most. Exact: tokens come back by time alone, so that the same request would hear the
 * same, unless another process gives back or resets. Another cost or another chain has another
 * answer, and is asked about.
 */
export class DenyCache extends StoreAround {
  readonly #denials = new Map<string, Denial>();

  constructor(
    store: LimitStore,
    private readonly nowUs: () => number,
  ) {
    super(store);
  }

  override decide(inquiry: Inquiry): Awaitable<Decision> {
    const askedUs = this.nowUs();
    const isPlain = inquiry.mode === 'take' && inquiry.gate === undefined;
    const denial = isPlain ? this.#find(inquiry, askedUs) : undefined;
    if (denial) return again(denial, askedUs);
    const deciding = this.store.decide(inquiry);
    return isPending(deciding)
      ? deciding.then((decision) => this.#note(decision, askedUs))
      : this.#note(deciding, askedUs);
  }

  override async giveBack(returned: Return): Promise<boolean> {
    const limits = limitsOf(returned);
    // Before and after: a denial may come in between.
    this.#forget(limits);
    const cameBack = await this.store.giveBack(returned);
    this.#forget(limits);
    return cameBack;
  }

  override async reset(limits: readonly Limit[]): Promise<void> {
    await this.store.reset(limits);
    this.#forget(limits);
  }

  #find({ limits }: Inquiry, nowUs: number): Denial | undefined {
    if (this.#denials.size === 0) return undefined;
    for (const limit of limits) {
      const denial = this.#denials.get(idOf(limit));
      if (!denial || nowUs >= denial.untilUs) continue;
      if (isSameChain(denial.decision.limits, limits)) return denial;
    }
    return undefined;
  }

  #note(decision: Decision, askedUs: number): Decision {
    if (!decision.allowed && decision.failure === undefined) this.#remember(decision, askedUs);
    return decision;
  }

  /** From when it was asked, not answered: the wait had begun by then, so it is never too long. */
  #remember(decision: Decision, askedUs: number): void {
    for (const { limit, admits, waitUs } of decision.limits) {
      const known = Number.isFinite(waitUs) && limit.plan.kind !== 'concurrency';
      if (admits || !known || limit.plan.shadow) continue;
      const id = idOf(limit);
      this.#denials.delete(id);
      this.#denials.set(id, {
        decision,
        askedUs,
        untilUs: askedUs + Math.min(waitUs, MAX_TRUST_US),
      });
    }
    while (this.#denials.size > MAX_DENIALS) {
      const [oldest] = this.#denials.keys();
      this.#denials.delete(oldest!);
    }
  }

  #forget(limits: readonly Limit[]): void {
    for (const limit of limits) this.#denials.delete(idOf(limit));
  }
}

/** The same answer, a while later. */
function again({ decision, askedUs }: Denial, nowUs: number): Decision {
  const elapsedUs = nowUs - askedUs;
  const limits = decision.limits.map((one) => ({
    ...one,
    waitUs: one.admits ? 0 : Math.max(1, one.waitUs - elapsedUs),
    resetUs: Math.max(0, one.resetUs - elapsedUs),
  }));
  const waitUs = longestWaitUs(limits, false);
  return { allowed: false, waitUs, atUs: decision.atUs, limits, fromCache: true };
}

function isSameChain(said: readonly LimitDecision[], asked: readonly Limit[]): boolean {
  return said.length === asked.length && said.every(({ limit }, i) => isSame(limit, asked[i]!));
}

function isSame(one: Limit, other: Limit): boolean {
  return one.plan === other.plan && one.key === other.key && one.cost === other.cost;
}

/** A plan's name has no colon, so that no key can be taken for another plan's. */
function idOf({ plan, key }: Limit): string {
  return `${plan.name}:${key}`;
}
