import { admits, longestWaitUs } from '../core/admission.js';
import type { Awaitable } from '../core/awaitable.js';
import type {
  Decision,
  HeldLease,
  Inquiry,
  Limit,
  LimitDecision,
  LimitStore,
  Return,
} from '../core/limit-store.js';
import { StoreAround } from '../core/store-around.js';

/** Tells which limits can be decided together: those of one slot, or of one key. */
export type PlaceOf = (limit: Limit) => number | string;

/**
 * Decides chains whose keys live in different slots of a cluster, where no script can see them all:
 * slot by slot, the narrowest first, and what was taken is given back when a later one denies. So a
 * denied chain is charged for a moment, but never for good, and nothing is admitted too many.
 * Chains of one slot, which are those of one key, pass through untouched.
 */
export class SlotSplitStore extends StoreAround {
  /** What each slot decided, for a cancel: every server has a clock of its own. */
  readonly #parts = new WeakMap<Decision, readonly Decision[]>();

  constructor(
    store: LimitStore,
    private readonly placeOf: PlaceOf,
  ) {
    super(store);
  }

  override decide(inquiry: Inquiry): Awaitable<Decision> {
    const { limits } = inquiry;
    if (limits.every(({ key }) => key === limits[0]!.key)) return this.store.decide(inquiry);
    return this.decideApart(inquiry);
  }

  /** The same, where limits of one key may be in different places. */
  decideApart(inquiry: Inquiry): Awaitable<Decision> {
    const groups = this.#group(inquiry.limits);
    if (groups.length === 1) return this.store.decide(inquiry);
    return inquiry.mode === 'peek'
      ? this.#peek(inquiry, groups)
      : this.#take(inquiry, groups.sort(byNarrowness));
  }

  override async giveBack(returned: Return): Promise<boolean> {
    const cameBack = await all(this.#partsOf(returned), (part) => this.store.giveBack(part));
    return cameBack.some(Boolean);
  }

  override async renew(leases: readonly HeldLease[]): Promise<readonly boolean[]> {
    const places = new Map<number | string, { lease: HeldLease; index: number }[]>();
    leases.forEach(({ leaseId, limits }, index) => {
      for (const limit of limits) {
        const ofPlace = listOf(places, this.placeOf(limit));
        ofPlace.push({ lease: { leaseId, limits: [limit] }, index });
      }
    });
    const held = leases.map(() => true);
    await all([...places.values()], async (ofPlace) => {
      const answers = await this.store.renew(ofPlace.map(({ lease }) => lease));
      ofPlace.forEach(({ index }, i) => (held[index] &&= answers[i] === true));
    });
    return held;
  }

  override async reset(limits: readonly Limit[]): Promise<void> {
    await all(this.#group(limits), (group) => this.store.reset(group));
  }

  async #take(inquiry: Inquiry, groups: readonly (readonly Limit[])[]): Promise<Decision> {
    const taken: Decision[] = [];
    for (const limits of groups) {
      const decision = await this.#ask({ ...inquiry, limits }, taken);
      if (!decision.allowed) return this.#deny(inquiry, groups, taken, decision);
      taken.push(decision);
    }
    const merged = merge(inquiry, taken);
    this.#parts.set(merged, taken);
    return merged;
  }

  /** Where there is no answer, nothing is kept of what was taken before; nobody waits for that. */
  async #ask(inquiry: Inquiry, taken: readonly Decision[]): Promise<Decision> {
    try {
      return await this.store.decide(inquiry);
    } catch (error) {
      all(taken, (decision) => this.#undo(inquiry, decision)).catch(() => undefined);
      throw error;
    }
  }

  /** Gives back what the slots before took, once; the others are only looked at, for the answer. */
  async #deny(
    inquiry: Inquiry,
    groups: readonly (readonly Limit[])[],
    taken: readonly Decision[],
    denial: Decision,
  ): Promise<Decision> {
    await all(taken, (decision) => this.#undo(inquiry, decision));
    const others = groups.filter((_, i) => i !== taken.length);
    const seen = await all(others, (limits) =>
      this.store.decide({ ...inquiry, mode: 'peek', limits }),
    );
    return merge(inquiry, [denial, ...seen.map((decision) => asAsked(inquiry, decision))]);
  }

  /**
   * As a turn that is not used: what has been refilled since does not come twice, and what was not
   * taken, because there was no answer, is not given.
   */
  async #undo({ leaseId }: Inquiry, decision: Decision): Promise<void> {
    await this.store.giveBack({ kind: 'cancel', decision, leaseId });
  }

  async #peek(inquiry: Inquiry, groups: readonly (readonly Limit[])[]): Promise<Decision> {
    return merge(inquiry, await all(groups, (limits) => this.store.decide({ ...inquiry, limits })));
  }

  #partsOf(returned: Return): Return[] {
    if (returned.kind === 'cancel') {
      return this.#split(returned.decision).map((decision) => ({ ...returned, decision }));
    }
    const groups = this.#group(returned.limits);
    if (returned.kind === 'release' || !returned.decision) {
      return groups.map((limits) => ({ ...returned, limits }));
    }
    const charges = this.#split(returned.decision);
    return groups.map((limits) => {
      const place = this.placeOf(limits[0]!);
      const decision = charges.find((part) => this.placeOf(part.limits[0]!.limit) === place);
      return { ...returned, limits, decision };
    });
  }

  /** What each place has decided, as its own server has told it where that is known. */
  #split(decision: Decision): readonly Decision[] {
    const known = this.#parts.get(decision);
    if (known) return known;
    const places = new Map<number | string, LimitDecision[]>();
    for (const one of decision.limits) listOf(places, this.placeOf(one.limit)).push(one);
    return [...places.values()].map((limits) => ({ ...decision, limits }));
  }

  #group(limits: readonly Limit[]): (readonly Limit[])[] {
    const places = new Map<number | string, Limit[]>();
    for (const limit of limits) listOf(places, this.placeOf(limit)).push(limit);
    return [...places.values()];
  }
}

/** A limit that was only looked at may admit a turn that is to be waited for. */
function asAsked(inquiry: Inquiry, seen: Decision): Decision {
  const limits = seen.limits.map((one) => ({
    ...one,
    admits: admits(inquiry, one.limit.plan, one.waitUs),
  }));
  return { ...seen, limits };
}

/** One answer out of several; in the order of the inquiry, where there are answers. */
function merge({ limits: asked }: Inquiry, parts: readonly Decision[]): Decision {
  const position = ({ limit }: LimitDecision) =>
    asked.findIndex(({ plan, key }) => plan.name === limit.plan.name && key === limit.key);
  const limits = parts
    .flatMap((part) => part.limits)
    .sort((one, other) => position(one) - position(other));
  const denial = parts.find((part) => !part.allowed);
  const allowed = denial === undefined;
  const waitUs = Math.max(longestWaitUs(limits, allowed), denial?.waitUs ?? 0);
  const merged: Decision = { allowed, waitUs, atUs: parts[0]!.atUs, limits };
  const failure = (denial ?? parts.find((part) => part.failure !== undefined))?.failure;
  return failure === undefined ? merged : { ...merged, failure };
}

/** What a caller is likelier to have used up comes first: least is given back then. */
function byNarrowness(one: readonly Limit[], other: readonly Limit[]): number {
  return smallestQuota(one) - smallestQuota(other);
}

function smallestQuota(limits: readonly Limit[]): number {
  return Math.min(...limits.map(({ plan }) => plan.quota));
}

function all<T, R>(items: readonly T[], work: (item: T) => Awaitable<R>): Promise<R[]> {
  return Promise.all(items.map(async (item) => work(item)));
}

function listOf<T>(lists: Map<number | string, T[]>, key: number | string): T[] {
  let list = lists.get(key);
  if (!list) lists.set(key, (list = []));
  return list;
}
