import { withGate } from '../core/admission.js';
import type { Awaitable } from '../core/awaitable.js';
import type {
  Decision,
  HeldLease,
  Inquiry,
  Limit,
  LimitStore,
  Return,
} from '../core/limit-store.js';
import { limitsOf, StoreAround } from '../core/store-around.js';
import type { MovingSlots } from './moving-slots.js';
import { isOfMovingSlot } from './slot-errors.js';
import { SlotSplitStore } from './slot-split-store.js';

/** Where a limit lives in a cluster. */
export interface LimitPlaces {
  slotOf(limit: Limit): number;
  nameOf(limit: Limit): string;
}

/**
 * Decides chains of a slot that is moving to another server of a cluster. As long as some of its keys
 * are here and some there, Redis refuses commands for several of them (TRYAGAIN), and answers those
 * for one. So the chain is decided key by key, and what was taken is given back when a later one
 * denies: limits hold as ever, at the price of a round trip or two per key.
 */
export class MovingSlotStore extends StoreAround {
  readonly #keyByKey: SlotSplitStore;

  constructor(
    store: LimitStore,
    private readonly places: LimitPlaces,
    private readonly moving: MovingSlots,
  ) {
    super(store);
    this.#keyByKey = new SlotSplitStore(store, (limit) => places.nameOf(limit));
  }

  override decide(inquiry: Inquiry): Awaitable<Decision> {
    return this.#ask(
      inquiry.limits[0],
      () => this.store.decide(inquiry),
      () => this.#decideKeyByKey(inquiry),
    );
  }

  override giveBack(returned: Return): Awaitable<boolean> {
    return this.#ask(
      limitsOf(returned)[0],
      () => this.store.giveBack(returned),
      () => this.#keyByKey.giveBack(withoutGate(returned)),
    );
  }

  override renew(leases: readonly HeldLease[]): Awaitable<readonly boolean[]> {
    return this.#ask(
      leases[0]?.limits[0],
      () => this.store.renew(leases),
      () => this.#keyByKey.renew(leases),
    );
  }

  override reset(limits: readonly Limit[]): Awaitable<void> {
    return this.#ask(
      limits[0],
      () => this.store.reset(limits),
      () => this.#keyByKey.reset(limits),
    );
  }

  /** All limits of a call live in the slot of the first. */
  #ask<T>(
    first: Limit | undefined,
    together: () => Awaitable<T>,
    keyByKey: () => Awaitable<T>,
  ): Awaitable<T> {
    if (first === undefined) return together();
    if (!this.moving.isEmpty && this.moving.has(this.places.slotOf(first))) return keyByKey();
    return Promise.resolve(together()).catch((error: unknown) => {
      if (!isOfMovingSlot(error)) throw error;
      this.moving.add(this.places.slotOf(first));
      return keyByKey();
    });
  }

  /** The gate first, since a chain that it stops is charged nothing. */
  async #decideKeyByKey(inquiry: Inquiry): Promise<Decision> {
    const { gate, ...behind } = inquiry;
    if (!gate) return this.#keyByKey.decideApart(inquiry);
    const passed = await this.store.decide({ ...inquiry, limits: [] });
    const mode = passed.allowed ? inquiry.mode : 'peek';
    const decision = await this.#keyByKey.decideApart({ ...behind, mode });
    const allowed = passed.allowed && decision.allowed;
    return withGate({ ...decision, allowed }, passed.gate!);
  }
}

/**
 * Whether a turn was made void is known to its gate only, which is another key. Its tokens are kept
 * then, and come back in time; slots are released.
 */
function withoutGate(returned: Return): Return {
  if (returned.kind !== 'cancel' || !returned.decision.gate) return returned;
  const { allowed, waitUs, atUs } = returned.decision;
  const limits = returned.decision.limits.filter(({ limit }) => limit.plan.kind === 'concurrency');
  return { ...returned, decision: { allowed, waitUs, atUs, limits } };
}
