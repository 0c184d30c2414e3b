import type { LimitLabel } from '../core/limit-store.js';
import type { FailurePolicy, Plan } from '../core/plan.js';
import { DENY_ALL } from '../core/plan.js';
import { isOther } from './counters-by-name.js';
import type { KeyRoom } from './heavy-hitters.js';
import { HeavyHitters } from './heavy-hitters.js';
import type { PolicyStats, TopKeys } from './stats-snapshot.js';
import { TimeRecord } from './time-stats.js';

/** How long the largest use is remembered at least. */
const PEAK_MS = 10_000;

/** The share of a quota that, when left, is called near the limit. */
const NEAR_LIMIT_LEFT = 0.2;

/** What is counted under one plan or level. Counting makes no garbage. */
export class PolicyCounters {
  allowed = 0;
  /** What is left is worth a look only when it is no more than this. */
  lookBelow = 0;
  delayed = 0;
  denied = 0;
  deniedByZero = 0;
  fromDenyCache = 0;
  shadowDenied = 0;
  nearLimit = 0;
  failedOpen = 0;
  failedClosed = 0;
  failedLocal = 0;
  refunds = 0;
  /** Keys of requests, denied ones included. */
  readonly keys: HeavyHitters;
  readonly deniedKeys: HeavyHitters;
  /** Since the peak was last moved on. */
  #fewestLeft = Number.POSITIVE_INFINITY;
  #fewestLeftBefore = Number.POSITIVE_INFINITY;
  #peakSinceMs = 0;
  readonly waits = new TimeRecord();
  readonly leaseTimes = new TimeRecord();

  /** Whether these are the counters of many plans, which have no quota in common. */
  readonly isOther: boolean;

  constructor(
    readonly policy: string,
    public plan: Plan,
    public label: LimitLabel | undefined,
    room: KeyRoom,
  ) {
    this.keys = new HeavyHitters(room);
    this.deniedKeys = new HeavyHitters(room);
    this.isOther = isOther(policy);
    this.#lookAtAll();
  }

  /** Looks at what an allowed request left of the quota of its plan. */
  noteLeft(remaining: number, { quota }: Plan): void {
    const nearLimit = Math.floor(quota * NEAR_LIMIT_LEFT);
    if (remaining <= nearLimit) this.nearLimit++;
    if (this.isOther) return;
    if (remaining < this.#fewestLeft) this.#fewestLeft = remaining;
    // Most requests are neither near the limit nor nearer than another one was.
    this.lookBelow = Math.max(nearLimit, this.#fewestLeft - 1);
  }

  noteDenial({ quota }: Plan, fromCache: boolean): void {
    this.denied++;
    if (fromCache) this.fromDenyCache++;
    if (quota === DENY_ALL) this.deniedByZero++;
  }

  /** The store could not answer. What was decided in this process is counted as usual besides. */
  noteFailure(failure: FailurePolicy): void {
    if (failure === 'local') this.failedLocal++;
    else if (failure === 'open') {
      this.allowed++;
      this.failedOpen++;
    } else {
      this.denied++;
      this.failedClosed++;
    }
  }

  /** A request was booked for later. */
  noteWait(milliseconds: number): void {
    this.delayed++;
    this.waits.record(milliseconds);
  }

  /** Another plan of the same name from now on: it was changed while running. */
  adopt(plan: Plan, label: LimitLabel | undefined): void {
    if (plan.quota !== this.plan.quota || plan.kind !== this.plan.kind) {
      this.#fewestLeft = Number.POSITIVE_INFINITY;
      this.#fewestLeftBefore = Number.POSITIVE_INFINITY;
    }
    this.plan = plan;
    this.label = label;
    this.#lookAtAll();
  }

  snapshot(nowMs: number, leasesHeld: number, topKeys: TopKeys): PolicyStats {
    const { policy, plan } = this;
    return {
      policy,
      kind: plan.kind,
      quota: plan.quota,
      windowMs: plan.windowMs,
      shadow: plan.shadow,
      allowed: this.allowed,
      delayed: this.delayed,
      denied: this.denied,
      deniedByZero: this.deniedByZero,
      fromDenyCache: this.fromDenyCache,
      shadowDenied: this.shadowDenied,
      nearLimit: this.nearLimit,
      failedOpen: this.failedOpen,
      failedClosed: this.failedClosed,
      failedLocal: this.failedLocal,
      refunds: this.refunds,
      leasesHeld,
      leaseTimes: this.leaseTimes.snapshot(),
      peakUse: this.#peakUse(nowMs),
      waits: this.waits.snapshot(),
      topKeys,
    };
  }

  #lookAtAll(): void {
    this.lookBelow = this.isOther ? Number.POSITIVE_INFINITY : this.plan.quota;
  }

  /** Moved on by those who look, so that whoever counts need not look at a clock. */
  #peakUse(nowMs: number): number {
    const fewest = Math.min(this.#fewestLeft, this.#fewestLeftBefore);
    if (nowMs - this.#peakSinceMs >= PEAK_MS) {
      this.#peakSinceMs = nowMs;
      this.#fewestLeftBefore = this.#fewestLeft;
      this.#fewestLeft = Number.POSITIVE_INFINITY;
      this.#lookAtAll();
    }
    const { quota } = this.plan;
    if (fewest === Number.POSITIVE_INFINITY || quota <= 0) return 0;
    return Math.min(1, Math.max(0, 1 - fewest / quota));
  }
}
