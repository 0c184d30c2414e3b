import type { Awaitable } from './awaitable.js';
import { isPending } from './awaitable.js';
import type { Chain } from './chain.js';
import { addLimit, emptyChain, lendingPlan } from './chain.js';
import { MAX_PERIOD_MS } from './define-plan.js';
import { InvalidOptionError, LeaseRequiredError } from './errors.js';
import { NEVER } from './counter.js';
import type { ForgottenLeases } from './forgotten-leases.js';
import type { LeaseKeeper, LeaseTies } from './held-slots.js';
import { Lease } from './lease.js';
import { heldBy } from './lent-slots.js';
import type { Decision, Inquiry, Limit, LimitStore } from './limit-store.js';
import { PlanBook } from './plan-book.js';
import type { PlanRegistry } from './plan-registry.js';
import { denialOf, RateLimitResult, UNLIMITED_DECISION } from './rate-limit-result.js';
import type { PlanOrRate } from './register.js';
import { Reservation } from './reservation.js';

/**
 * A plan by its name, or by a rate such as `'100/minute'`; with a key or a number of tokens of its
 * own where they differ from those of the rest of the chain.
 */
export type PlanReference =
  PlanOrRate | { readonly plan: PlanOrRate; readonly key?: string; readonly tokens?: number };

/** One plan or a chain of them. */
export type PlanChain = PlanReference | readonly PlanReference[];

/** A plan whose name is checked when it is looked up. */
export type UncheckedReference =
  string | { readonly plan: string; readonly key?: string; readonly tokens?: number };

type UncheckedChain = UncheckedReference | readonly UncheckedReference[];

/** How far ahead to book. */
export interface ReserveOptions {
  /** Longest acceptable wait in milliseconds, ten years at most; if longer, nothing is spent. */
  readonly maxWaitMs: number;
  /**
   * Tokens to spend.
   * @default 1
   */
  readonly tokens?: number;
}

/** What the engine needs from outside: it keeps no time, rolls no dice and opens nothing. */
export interface RateLimiterParts {
  readonly registry: PlanRegistry;
  readonly store: LimitStore;
  /** Makes lease ids that no other process makes. */
  readonly newLeaseId: () => string;
  /** Renews what is held; without one, leases end after their time. */
  readonly leaseKeeper?: LeaseKeeper;
  /** Finds leases that nobody released; without one, they are renewed for ever. */
  readonly forgottenLeases?: ForgottenLeases;
}

/** Where every plan of a chain has a key of its own. */
const NO_KEY = '';

/**
 * Decides whether requests may pass. Every method takes a key and a chain of plans and decides the
 * chain as one: every plan admits and is charged, or none is charged.
 */
export class RateLimiter {
  readonly #plans: PlanBook;
  readonly #store: LimitStore;
  readonly #newLeaseId: () => string;
  readonly #ties: LeaseTies;
  readonly #forgotten: ForgottenLeases | undefined;

  /** @internal Made by the module. */
  constructor(parts: RateLimiterParts) {
    this.#plans = new PlanBook(parts.registry);
    this.#store = parts.store;
    this.#newLeaseId = parts.newLeaseId;
    this.#ties = { store: parts.store, keeper: parts.leaseKeeper };
    this.#forgotten = parts.forgottenLeases;
  }

  /** Spends tokens if every plan has them. Most callers want this. */
  async allow(key: string, plans: PlanChain, tokens = 1): Promise<RateLimitResult> {
    const building = this.#chain(key, plans, tokens);
    const chain = isPending(building) ? await building : building;
    if (chain.lends) throw new LeaseRequiredError(lendingPlan(chain));
    const deciding = this.#decide(chain);
    return new RateLimitResult(isPending(deciding) ? await deciding : deciding);
  }

  /** Tells what `allow` would answer, and spends nothing. */
  async peek(key: string, plans: PlanChain, tokens = 1): Promise<RateLimitResult> {
    const chain = await this.#chain(key, plans, tokens);
    chain.mode = 'peek';
    return new RateLimitResult(await this.#decide(chain));
  }

  /**
   * Spends tokens and takes the slots of concurrency plans, which the lease gives back. Keep the lease
   * as long as you need the slots: one that is garbage without a release is released, with a warning.
   */
  async acquire(key: string, plans: PlanChain, tokens = 1): Promise<Lease> {
    const building = this.#chain(key, plans, tokens);
    const chain = isPending(building) ? await building : building;
    // Before anything is awaited: the caller is still on the stack.
    // eslint-disable-next-line @typescript-eslint/unbound-method -- marks a frame of the stack
    const place = chain.lends ? this.#forgotten?.callerOf(this.acquire) : undefined;
    const lease = await this.#lend(chain);
    this.#watch(lease, place);
    return lease;
  }

  /**
   * Does as `acquire`, without a promise where the registry and the store need none. The lease is not
   * watched: who calls this ends it, or tells by `lentTo` that it may be held too long.
   * @internal
   */
  acquireNow(key: string, plans: UncheckedChain, tokens: number): Awaitable<Lease> {
    const building = this.#chain(key, plans, tokens);
    return isPending(building) ? building.then((chain) => this.#lend(chain)) : this.#lend(building);
  }

  /**
   * Books a turn within the longest wait, in order of arrival. Too long a wait costs nothing. Every
   * plan is charged when the turn is booked, also one that would not have made it wait.
   */
  async reserve(key: string, plans: PlanChain, options: ReserveOptions): Promise<Reservation> {
    const { maxWaitMs, tokens = 1 } = options;
    if (!(maxWaitMs >= 0)) {
      throw new InvalidOptionError('maxWaitMs', 'a number of milliseconds from 0 up', maxWaitMs);
    }
    const chain = await this.#chain(key, plans, tokens);
    chain.mode = 'reserve';
    chain.maxWaitUs = Math.floor(Math.min(maxWaitMs, MAX_PERIOD_MS) * 1_000);
    // eslint-disable-next-line @typescript-eslint/unbound-method -- marks a frame of the stack
    const place = chain.lends ? this.#forgotten?.callerOf(this.reserve) : undefined;
    if (chain.lends) chain.leaseId = this.#newLeaseId();
    const decision = await this.#decide(chain);
    const held = heldBy(decision, chain.leaseId);
    const reservation = new Reservation(decision, chain.leaseId, held, this.#ties);
    this.#watch(reservation, place, reservation.waitMs);
    return reservation;
  }

  /**
   * Credits tokens, never above what the plans hold. Nobody knows when they were spent, so that those
   * which time has brought back already come twice. What a request was charged is better given back
   * by its lease: `acquire`, then `settle`, which leaves out what has come back since.
   */
  async refund(key: string, plans: PlanChain, tokens = 1): Promise<void> {
    const { limits } = await this.#chain(key, plans, tokens);
    if (limits.length > 0) await this.#store.giveBack({ kind: 'refund', limits });
  }

  /**
   * Gives back what a lease was charged for these plans, as far as it was and is not settled.
   * @internal
   */
  async refundCharge(lease: Lease, plans: readonly UncheckedReference[]): Promise<void> {
    const { limits } = await this.#chain(NO_KEY, plans, 1);
    await lease.refund(limits);
  }

  /** Forgets what the key has spent in these plans. */
  async reset(key: string, plans: PlanChain): Promise<void> {
    const { limits } = await this.#chain(key, plans, 1);
    if (limits.length > 0) await this.#store.reset(limits);
  }

  #lend(chain: Chain): Awaitable<Lease> {
    if (chain.lends) chain.leaseId = this.#newLeaseId();
    const deciding = this.#decide(chain);
    return isPending(deciding)
      ? deciding.then((decision) => this.#leaseFor(decision, chain.leaseId))
      : this.#leaseFor(deciding, chain.leaseId);
  }

  #watch(lease: Lease, place: string | undefined, startsInMs = 0): void {
    if (!lease.slots) return;
    lease.lentTo(place, startsInMs);
    this.#forgotten?.watch(lease);
  }

  #leaseFor(decision: Decision, leaseId: string): Lease {
    return new Lease(decision, heldBy(decision, leaseId), this.#ties);
  }

  #chain(key: string, plans: UncheckedChain, tokens: number): Awaitable<Chain> {
    const chain = emptyChain();
    if (!isList(plans)) return this.#link(chain, plans, key, tokens);
    for (let i = 0; i < plans.length; i++) {
      const linking = this.#link(chain, plans[i]!, key, tokens);
      if (isPending(linking)) return this.#linkRest(linking, plans.slice(i + 1), key, tokens);
    }
    return chain;
  }

  #link(
    chain: Chain,
    reference: UncheckedReference,
    key: string,
    tokens: number,
  ): Awaitable<Chain> {
    const named = typeof reference === 'string';
    const plan = this.#plans.find(named ? reference : reference.plan);
    const ownKey = named ? key : (reference.key ?? key);
    const ownTokens = named ? tokens : (reference.tokens ?? tokens);
    return isPending(plan)
      ? plan.then((found) => addLimit(chain, found, ownKey, ownTokens))
      : addLimit(chain, plan, ownKey, ownTokens);
  }

  /** The rest of a chain whose plans have to be waited for. */
  async #linkRest(
    linking: Promise<Chain>,
    rest: readonly UncheckedReference[],
    key: string,
    tokens: number,
  ): Promise<Chain> {
    const chain = await linking;
    for (const reference of rest) await this.#link(chain, reference, key, tokens);
    return chain;
  }

  #decide(chain: Chain): Awaitable<Decision> {
    if (chain.closed) return this.#decideClosed(chain.closed, chain);
    return chain.limits.length === 0 ? UNLIMITED_DECISION : this.#store.decide(chain);
  }

  /** A plan of 0 denies without asking the store; one that is a shadow only says that it would. */
  async #decideClosed(closed: readonly Limit[], inquiry: Inquiry): Promise<Decision> {
    const denials = closed.filter(({ plan }) => !plan.shadow).map(denialOf);
    const limits = denials.length > 0 ? denials : closed.map(denialOf);
    const known: Decision =
      denials.length > 0
        ? { allowed: false, waitUs: NEVER, atUs: 0, limits }
        : { ...UNLIMITED_DECISION, limits };
    if (inquiry.mode !== 'peek') this.#store.witness(known);
    if (denials.length > 0 || inquiry.limits.length === 0) return known;
    const decision = await this.#store.decide(inquiry);
    return { ...decision, limits: [...decision.limits, ...limits] };
  }
}

function isList(plans: UncheckedChain): plans is readonly UncheckedReference[] {
  return Array.isArray(plans);
}
