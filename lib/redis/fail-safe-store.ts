import type { Awaitable } from '../core/awaitable.js';
import { definePlan } from '../core/define-plan.js';
import type { Gate, GateChange, GateListener, GateState, GateWatch } from '../core/gate.js';
import type {
  Decision,
  HeldLease,
  Inquiry,
  Limit,
  LimitStore,
  Return,
} from '../core/limit-store.js';
import type { FailurePolicy, Plan } from '../core/plan.js';
import { limitsOf, StoreAround } from '../core/store-around.js';
import type { HealthListener } from './breaker.js';
import { Breaker } from './breaker.js';
import { UnreadableKeyError } from './decide-message.js';
import { FailingSlots } from './failing-slots.js';
import { reasonOf } from './last-error.js';
import { LocalShares } from './local-shares.js';
import { MalformedReplyError } from './lua-script.js';
import { OwedReleases } from './owed-releases.js';
import { isOfSlot } from './slot-errors.js';
import { TroubledSlots } from './troubled-slots.js';

/** What the store that may fail can tell and be told beside its port. */
export interface Connection {
  /** The server that holds a limit; '' where there is only one. */
  nodeOf(limit: Limit): string;
  /** The part of its server that a limit lives in; 0 where there is only one server. */
  slotOf(limit: Limit): number;
  /** Why nothing would be sent now; undefined when it would. */
  whyNotReady(): string | undefined;
  /** Drops a socket that may be out of step, and connects anew. */
  reconnect(node: string): void;
  /** Writes something harmless beside a limit, to see whether its server can. */
  probe(beside: Limit): Promise<unknown>;
}

/** How to live without the store. */
export interface FailSafeOptions {
  /** What happens to plans that do not say. */
  readonly onStoreFailure: FailurePolicy;
  /** The share of a plan that one process enforces alone, more than 0, up to 1. */
  readonly localShare: number;
  readonly listener: HealthListener;
  readonly nowMs: () => number;
}

/** Stands for a gate where the server of a limit is asked for. */
const GATE_PLAN = definePlan('gate', '1/s');

/** Failures of a script or of what it found under a key; the server itself is well. */
const FAULTS_OF_A_KEY = /^(WRONGTYPE|ERR user_script)/;

/**
 * Bounds what a failing store can do to callers: none waits once a server is known to be down, and
 * nothing is sent twice. Every server has a breaker of its own, which exists while it is in trouble, and
 * so has a slot of a cluster that is in trouble alone.
 */
export class FailSafeStore extends StoreAround {
  readonly #breakers = new Map<string, Breaker>();
  readonly #failing: FailingSlots;
  readonly #slots: TroubledSlots;
  readonly #shares: LocalShares;
  readonly #owed = new OwedReleases();
  /** Who wants to know when gates can be looked at again. */
  readonly #watchers = new Set<() => void>();
  #isClosed = false;

  constructor(
    store: LimitStore,
    private readonly local: LimitStore,
    private readonly connection: Connection,
    private readonly options: FailSafeOptions,
  ) {
    super(store);
    this.#failing = new FailingSlots(options.nowMs);
    this.#slots = new TroubledSlots(options.listener, options.nowMs);
    this.#shares = new LocalShares(options.localShare);
  }

  override decide(inquiry: Inquiry): Awaitable<Decision> {
    const first = inquiry.limits[0]!;
    if (!this.#isReachable(first)) return this.#decideWithout(inquiry);
    return Promise.resolve(this.store.decide(inquiry)).then(
      (decision) => {
        this.#succeed(first);
        return decision;
      },
      (error: unknown) => {
        this.#judge(error, first);
        this.#oweLease(inquiry);
        return this.#decideWithout(inquiry);
      },
    );
  }

  /** Never fails: what cannot be given back comes back by itself, in time. */
  override async giveBack(returned: Return): Promise<boolean> {
    // What was charged comes back where it was charged; in the other place it would be a gift.
    const charge = chargeOf(returned);
    const failure = charge?.failure;
    const atHome = failure === 'local' || charge === undefined;
    const locally = atHome && (await this.local.giveBack(this.#shares.ofReturn(returned)));
    const first = limitsOf(returned)[0];
    if (failure !== undefined || !first) return locally;
    if (!this.#isReachable(first)) {
      this.#owe(returned);
      return locally;
    }
    try {
      return (await this.store.giveBack(returned)) || locally;
    } catch (error) {
      this.#judge(error, first);
      this.#owe(returned);
      return locally;
    }
  }

  /** A lease whose fate is unknown is kept: it is renewed again before it ends, or it ends. */
  override async renew(leases: readonly HeldLease[]): Promise<readonly boolean[]> {
    const locally = await this.local.renew(leases);
    const first = leases[0]?.limits[0];
    if (!first || !this.#isReachable(first)) return leases.map(() => true);
    try {
      const shared = await this.store.renew(leases);
      return shared.map((held, i) => held || locally[i] === true);
    } catch (error) {
      this.#judge(error, first);
      return leases.map(() => true);
    }
  }

  override async reset(limits: readonly Limit[]): Promise<void> {
    await this.local.reset(limits);
    if (limits[0] && !this.#isReachable(limits[0])) {
      throw new Error('The limits were not reset, because Redis does not answer.');
    }
    await this.store.reset(limits);
  }

  /** Without the store, processes cool down each on its own. */
  override async changeGate(change: GateChange): Promise<GateState> {
    return this.#atGate(
      change.bucket,
      () => this.store.changeGate(change),
      // Whoever books alone need not be told of.
      () =>
        change.kind === 'beat' ? this.local.lookAtGate(change.gate) : this.local.changeGate(change),
    );
  }

  override async lookAtGate(gate: Gate): Promise<GateState> {
    const beside = { plan: GATE_PLAN, key: gate.key, cost: 1 };
    return this.#atGate(
      beside,
      () => this.store.lookAtGate(gate),
      () => this.local.lookAtGate(gate),
    );
  }

  override watchGates(listener: GateListener, onLive = () => {}): GateWatch {
    // A registration of its own: the same function may be given twice.
    const watcher = () => onLive();
    this.#watchers.add(watcher);
    const shared = this.store.watchGates(listener, onLive);
    const local = this.local.watchGates(listener);
    return {
      get isLive() {
        return shared.isLive;
      },
      get gaps() {
        return shared.gaps;
      },
      close: () => {
        this.#watchers.delete(watcher);
        shared.close();
        local.close();
      },
    };
  }

  override async close(): Promise<void> {
    this.#isClosed = true;
    for (const breaker of this.#breakers.values()) breaker.stop();
    await this.store.close();
  }

  async #atGate<T>(limit: Limit, ask: () => Awaitable<T>, instead: () => Awaitable<T>): Promise<T> {
    if (!this.#isReachable(limit)) return instead();
    try {
      return await ask();
    } catch (error) {
      this.#judge(error, limit);
      return instead();
    }
  }

  /** Where nothing is in trouble, which server it is need not be found out. */
  #isReachable(limit: Limit): boolean {
    if (this.#isClosed) return false;
    const obstacle = this.connection.whyNotReady();
    if (obstacle === undefined && this.#breakers.size === 0) return true;
    if (this.#openBreakerOf(limit)) return false;
    if (obstacle === undefined) return true;
    this.#breakerOf(this.connection.nodeOf(limit), limit).fail(obstacle, true);
    return false;
  }

  #openBreakerOf(limit: Limit): Breaker | undefined {
    const ofNode = this.#breakers.get(this.connection.nodeOf(limit));
    if (ofNode?.isOpen) return ofNode;
    const ofSlot = this.#breakers.get(this.#slotName(limit));
    return ofSlot?.isOpen ? ofSlot : undefined;
  }

  #succeed(limit: Limit): void {
    const { size: failing } = this.#failing;
    if (this.#owed.size + this.#breakers.size + this.#slots.size + failing === 0) return;
    const node = this.connection.nodeOf(limit);
    const slot = this.connection.slotOf(limit);
    this.#slots.succeed(slot);
    this.#failing.succeed(node, slot);
    this.#payBack(node);
    // An open one is closed by its probe alone.
    if (this.#breakers.get(node)?.isOpen === false) this.#breakers.delete(node);
  }

  #breakerOf(place: string, limit: Limit): Breaker {
    let breaker = this.#breakers.get(place);
    if (!breaker) this.#breakers.set(place, (breaker = this.#newBreaker(place, limit)));
    return breaker;
  }

  #newBreaker(place: string, limit: Limit): Breaker {
    const { listener, nowMs } = this.options;
    const node = this.connection.nodeOf(limit);
    return new Breaker({
      probe: () => this.#probe(limit),
      reconnect: () => {
        // Trouble of one slot is no reason to cut off the others of its server.
        if (place === node) this.connection.reconnect(node);
      },
      onDown: (reason) => listener.onDown(place, reason),
      onUp: (downMs, decidedWithout) => {
        this.#breakers.delete(place);
        listener.onUp(place, downMs, decidedWithout);
        this.#payBack(node);
        // What is heard comes by another connection, which may have been there before this one.
        for (const watcher of this.#watchers) watcher();
      },
      nowMs,
    });
  }

  async #probe(limit: Limit): Promise<void> {
    const obstacle = this.connection.whyNotReady();
    if (obstacle !== undefined) throw new Error(obstacle);
    await this.connection.probe(limit);
  }

  /** A fault of one key or slot says nothing about the server, or it would end all limits. */
  #judge(error: unknown, limit: Limit): void {
    const plan = error instanceof UnreadableKeyError ? error.plan : limit.plan.name;
    if (error instanceof UnreadableKeyError || FAULTS_OF_A_KEY.test((error as Error).message)) {
      this.options.listener.onUnreadable(plan);
      return;
    }
    if (isOfSlot(error)) {
      this.#slots.fail(this.connection.slotOf(limit), reasonOf(error));
      return;
    }
    this.#blame(limit, error);
  }

  #blame(limit: Limit, error: unknown): void {
    const node = this.connection.nodeOf(limit);
    const reason = reasonOf(error);
    // A single server has no slots.
    const blamed = node === '' ? 'node' : this.#failing.blame(node, this.connection.slotOf(limit));
    if (blamed === 'slot') this.#breakerOf(this.#slotName(limit), limit).fail(reason, true);
    if (blamed === 'node') this.#breakerOf(node, limit).fail(reason);
    // A socket that is out of step hands out answers meant for others. One that is silent is replaced
    // by the breaker, not at once: it is the first to answer when a server that hung goes on.
    if (error instanceof MalformedReplyError) this.connection.reconnect(node);
  }

  #slotName(limit: Limit): string {
    return `slot ${this.connection.slotOf(limit)}`;
  }

  /**
   * The acquire may be carried out after all, later: it is given back when the store answers again,
   * unless somebody holds the lease because it was granted in this process instead.
   */
  #oweLease({ limits, leaseId }: Inquiry): void {
    const lent = limits.filter(
      ({ plan }) => plan.kind === 'concurrency' && this.#policyOf(plan) !== 'local',
    );
    this.#oweRelease(leaseId, lent);
  }

  #owe(returned: Return): void {
    if (returned.kind === 'refund') return;
    const lent = limitsOf(returned).filter(({ plan }) => plan.kind === 'concurrency');
    this.#oweRelease(returned.leaseId, lent);
  }

  #oweRelease(leaseId: string, limits: readonly Limit[]): void {
    if (limits.length === 0) return;
    const node = this.connection.nodeOf(limits[0]!);
    this.#owed.add(node, { leaseId, limits }, this.options.nowMs());
  }

  /** Only where they were taken: what this process lent meanwhile is not meant. */
  #payBack(node: string): void {
    for (const owed of this.#owed.take(node, this.options.nowMs())) {
      const { leaseId, limits } = owed.lease;
      Promise.resolve(this.store.giveBack({ kind: 'release', leaseId, limits })).catch(() =>
        this.#owed.addAgain(owed),
      );
    }
  }

  #decideWithout(inquiry: Inquiry): Awaitable<Decision> {
    if (this.#breakers.size > 0) this.#openBreakerOf(inquiry.limits[0]!)?.countDecision();
    const under = (policy: FailurePolicy) =>
      inquiry.limits.filter(({ plan }) => this.#policyOf(plan) === policy);
    // A shadow plan never denies, not even for want of an answer.
    if (under('closed').some(({ plan }) => !plan.shadow)) return failed('closed');
    const limits = under('local');
    return limits.length === 0 ? failed('open') : this.#decideLocally(inquiry, limits);
  }

  async #decideLocally(inquiry: Inquiry, limits: readonly Limit[]): Promise<Decision> {
    const shares = limits.map((limit) => this.#shares.ofLimit(limit));
    const decision = await this.local.decide(withoutHolder({ ...inquiry, limits: shares }));
    // Told of the limits that were asked for: shares are nobody else's business.
    const told = decision.limits.map((one, i) => ({ ...one, limit: limits[i]! }));
    return { ...decision, limits: told, failure: 'local' };
  }

  #policyOf(plan: Plan): FailurePolicy {
    return plan.onStoreFailure ?? this.options.onStoreFailure;
  }
}

/** Nobody counts on a process for what it books on its own. */
function withoutHolder(inquiry: Inquiry): Inquiry {
  const { gate } = inquiry;
  return gate ? { ...inquiry, gate: { ...gate, holder: undefined } } : inquiry;
}

/** What spent that which comes back; undefined for leases, and for a credit by hand. */
function chargeOf(returned: Return): Decision | undefined {
  return returned.kind === 'release' ? undefined : returned.decision;
}

function failed(failure: 'open' | 'closed'): Decision {
  const allowed = failure === 'open';
  return { allowed, waitUs: allowed ? 0 : 1_000_000, atUs: 0, limits: [], failure };
}
