import type { Decision, HeldLease, Inquiry, Limit, Return } from '../core/limit-store.js';
import { LimitStore } from '../core/limit-store.js';
import type { FailurePolicy, Plan } from '../core/plan.js';
import type { HealthListener } from './breaker.js';
import { Breaker } from './breaker.js';
import { Deadline } from './deadline.js';
import { MalformedReplyError, UnreadableKeyError } from './decide-message.js';

/** What the store that may fail can tell and be told beside its port. */
export interface Connection {
  /** Whether a command would be sent now. */
  isReady(): boolean;
  /** Drops a socket that may be out of step, and connects anew. */
  reconnect(): void;
  /** Writes something harmless, to see whether the store can. */
  probe(): Promise<unknown>;
}

/** How to live without the store. */
export interface FailSafeOptions {
  /** Longest that a decision waits for the store, in milliseconds. */
  readonly deadlineMs: number;
  /** What happens to plans that do not say. */
  readonly onStoreFailure: FailurePolicy;
  /** The share of a plan that one process enforces alone, more than 0, up to 1. */
  readonly localShare: number;
  readonly listener: HealthListener;
  readonly nowMs: () => number;
}

/** Failures of a script or of what it found under a key; the server itself is well. */
const FAULTS_OF_A_KEY = /^(WRONGTYPE|ERR user_script|ERR Error running script)/;

/**
 * Bounds what a failing store can do to callers. None waits longer than the deadline, none waits at
 * all once the store is known to be down, and nothing is sent twice.
 */
export class FailSafeStore extends LimitStore {
  readonly #deadline: Deadline;
  readonly #breaker: Breaker;

  constructor(
    private readonly store: LimitStore,
    private readonly local: LimitStore,
    private readonly connection: Connection,
    private readonly options: FailSafeOptions,
  ) {
    super();
    const { deadlineMs, listener, nowMs } = options;
    this.#deadline = new Deadline(deadlineMs, nowMs);
    this.#breaker = new Breaker(() => this.#probe(), listener, nowMs);
  }

  override async decide(inquiry: Inquiry): Promise<Decision> {
    if (!this.#isReachable()) return this.#decideWithout(inquiry);
    try {
      const decision = await this.#within(this.store.decide(inquiry));
      this.#breaker.succeed();
      return decision;
    } catch (error) {
      this.#judge(error);
      this.#takeBackLease(inquiry);
      return this.#decideWithout(inquiry);
    }
  }

  /** Never fails: what cannot be given back comes back by itself, in time. */
  override async giveBack(returned: Return): Promise<void> {
    await this.local.giveBack(returned);
    if (!this.#isReachable()) return;
    await this.#within(this.store.giveBack(returned)).catch((error: unknown) => this.#judge(error));
  }

  /** A lease whose fate is unknown is kept: it is renewed again before it ends, or it ends. */
  override async renew(leases: readonly HeldLease[]): Promise<readonly boolean[]> {
    const locally = await this.local.renew(leases);
    if (!this.#isReachable()) return leases.map(() => true);
    try {
      const shared = await this.#within(this.store.renew(leases));
      return shared.map((held, i) => held || locally[i] === true);
    } catch (error) {
      this.#judge(error);
      return leases.map(() => true);
    }
  }

  override async reset(limits: readonly Limit[]): Promise<void> {
    await this.local.reset(limits);
    await this.#within(this.store.reset(limits));
  }

  override async close(): Promise<void> {
    this.#breaker.stop();
    await this.store.close();
  }

  #isReachable(): boolean {
    if (this.#breaker.isOpen) return false;
    if (this.connection.isReady()) return true;
    this.#breaker.fail('there is no connection', true);
    return false;
  }

  #within<T>(answer: T | Promise<T>): Promise<T> {
    return this.#deadline.within(Promise.resolve(answer));
  }

  async #probe(): Promise<void> {
    if (!this.connection.isReady()) throw new Error('there is no connection');
    await this.#within(this.connection.probe());
  }

  /** A fault of one key says nothing about the server, or one poisoned key would end all limits. */
  #judge(error: unknown): void {
    const { message } = error as Error;
    if (error instanceof UnreadableKeyError || FAULTS_OF_A_KEY.test(message)) return;
    // Only its first words: what follows can name keys.
    const reason = message.split(/[:'"]/)[0]!.slice(0, 80);
    const opened = this.#breaker.fail(reason);
    // A socket that answered nonsense, or not at all, may hand out answers meant for others.
    if (opened || error instanceof MalformedReplyError) this.connection.reconnect();
  }

  /** The acquire may be carried out after all, later; this comes behind it on the same socket. */
  #takeBackLease({ limits, leaseId }: Inquiry): void {
    const lent = limits.filter(({ plan }) => plan.kind === 'concurrency');
    if (lent.length === 0 || !this.connection.isReady()) return;
    const taking = this.store.giveBack({ kind: 'release', limits: lent, leaseId });
    Promise.resolve(taking).catch(() => undefined);
  }

  async #decideWithout(inquiry: Inquiry): Promise<Decision> {
    this.#breaker.countDecision();
    const under = (policy: FailurePolicy) =>
      inquiry.limits.filter(({ plan }) => this.#policyOf(plan) === policy);
    // A shadow plan never denies, not even for want of an answer.
    if (under('closed').some(({ plan }) => !plan.shadow)) return failed('closed');
    const limits = under('local');
    if (limits.length === 0) return failed('open');
    const shares = limits.map((limit) => ({ ...limit, plan: this.#shareOf(limit.plan) }));
    return { ...(await this.local.decide({ ...inquiry, limits: shares })), failure: 'local' };
  }

  #policyOf(plan: Plan): FailurePolicy {
    return plan.onStoreFailure ?? this.options.onStoreFailure;
  }

  #shareOf(plan: Plan): Plan {
    const { localShare } = this.options;
    if (localShare === 1) return plan;
    const quota = Math.max(1, Math.floor(plan.quota * localShare));
    return plan.kind === 'token-bucket'
      ? { ...plan, quota, refill: plan.refill * localShare }
      : { ...plan, quota };
  }
}

function failed(failure: 'open' | 'closed'): Decision {
  const allowed = failure === 'open';
  return { allowed, waitUs: allowed ? 0 : 1_000_000, atUs: 0, limits: [], failure };
}
