import { Injectable, Logger } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import type { HeldSlots, LeaseKeeper } from '../core/held-slots.js';
import type { HeldLease } from '../core/limit-store.js';
import { LimitStore } from '../core/limit-store.js';
import { outsideRequests } from '../core/outside-requests.js';
import { Diagnostics } from './diagnostics.js';
import { HoldLimits } from './slots/hold-limits.js';
import { endSlots } from './slots/slot-ends.js';

/** The longest that a timer can run. */
const MAX_INTERVAL_MS = 2 ** 31 - 1;
/** Renewed three times in its length, a lease survives two renewals that fail. */
const RENEWALS_PER_LEASE = 3;

/**
 * Renews every lease that is held, all of them together: one timer for the process, running only
 * while something is held, and never keeping the process alive. Ends those that are held too long.
 */
@Injectable()
export class TimedLeaseKeeper implements LeaseKeeper, OnApplicationShutdown {
  readonly #held = new Set<HeldSlots>();
  readonly #limits: HoldLimits;
  readonly #logger = new Logger('RateLimit');
  #timer: NodeJS.Timeout | undefined;
  #intervalMs = Number.POSITIVE_INFINITY;
  #renewing = false;

  constructor(
    private readonly store: LimitStore,
    diagnostics: Diagnostics,
  ) {
    this.#limits = new HoldLimits((slots) => endSlots(slots, 'SLOT_HELD_TOO_LONG', diagnostics));
  }

  hold(slots: HeldSlots): void {
    this.#held.add(slots);
    const intervalMs = renewalMs(slots.held);
    if (intervalMs < this.#intervalMs) this.#start(intervalMs);
  }

  drop(slots: HeldSlots): void {
    // The timer goes on until it finds nothing held: requests that follow each other share it.
    this.#held.delete(slots);
    this.#limits.remove(slots);
  }

  limitHold(slots: HeldSlots, inMs: number): void {
    this.#limits.add(slots, inMs);
  }

  /** What is still held is given back, so that whoever starts next need not wait for leases to end. */
  async onApplicationShutdown(): Promise<void> {
    this.#stop();
    this.#limits.stop();
    await Promise.allSettled([...this.#held].map((slots) => slots.giveBack()));
  }

  #start(intervalMs: number): void {
    this.#stop();
    this.#intervalMs = intervalMs;
    this.#timer = outsideRequests(() =>
      setInterval(() => void this.#renewAll(), intervalMs).unref(),
    );
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#intervalMs = Number.POSITIVE_INFINITY;
  }

  async #renewAll(): Promise<void> {
    const all = [...this.#held];
    if (all.length === 0) this.#stop();
    // A store that hangs is not asked again before it has answered.
    if (all.length === 0 || this.#renewing) return;
    this.#renewing = true;
    try {
      const alive = await this.store.renew(all.map(({ held }) => held!));
      await Promise.all(all.filter((_, i) => !alive[i]).map((slots) => slots.lose()));
    } catch (error) {
      // The next round tries again; a lease that is not renewed in time ends, as it is meant to.
      this.#logger.warn(`Leases could not be renewed: ${(error as Error).message}`);
    } finally {
      this.#renewing = false;
    }
  }
}

function renewalMs(held: HeldLease | undefined): number {
  const lengths = (held?.limits ?? []).map(({ plan }) =>
    plan.kind === 'concurrency' ? plan.leaseUs / 1_000 : Number.POSITIVE_INFINITY,
  );
  return Math.min(MAX_INTERVAL_MS, Math.max(1, Math.min(...lengths) / RENEWALS_PER_LEASE));
}
