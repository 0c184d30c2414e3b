import { Injectable, Logger } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import type { Lease, LeaseKeeper } from '../core/lease.js';
import type { HeldLease } from '../core/limit-store.js';
import { LimitStore } from '../core/limit-store.js';
import { outsideRequests } from '../core/outside-requests.js';

/** The longest that a timer can run. */
const MAX_INTERVAL_MS = 2 ** 31 - 1;
/** Renewed three times in its length, a lease survives two renewals that fail. */
const RENEWALS_PER_LEASE = 3;

/**
 * Renews every lease that is held, all of them together: one timer for the process, running only
 * while something is held, and never keeping the process alive.
 */
@Injectable()
export class TimedLeaseKeeper implements LeaseKeeper, OnApplicationShutdown {
  readonly #held = new Set<Lease>();
  readonly #logger = new Logger('RateLimit');
  #timer: NodeJS.Timeout | undefined;
  #intervalMs = Number.POSITIVE_INFINITY;
  #renewing = false;

  constructor(private readonly store: LimitStore) {}

  hold(lease: Lease): void {
    this.#held.add(lease);
    const intervalMs = renewalMs(lease.held);
    if (intervalMs < this.#intervalMs) this.#start(intervalMs);
  }

  drop(lease: Lease): void {
    // The timer goes on until it finds nothing held: requests that follow each other share it.
    this.#held.delete(lease);
  }

  /** What is still held is given back, so that whoever starts next need not wait for leases to end. */
  async onApplicationShutdown(): Promise<void> {
    this.#stop();
    const held = [...this.#held];
    this.#held.clear();
    await Promise.allSettled(held.map((lease) => lease.release()));
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
    const leases = [...this.#held].filter(({ held }) => held !== undefined);
    if (leases.length === 0) this.#stop();
    // A store that hangs is not asked again before it has answered.
    if (leases.length === 0 || this.#renewing) return;
    this.#renewing = true;
    try {
      const alive = await this.store.renew(leases.map(({ held }) => held!));
      await Promise.all(leases.filter((_, i) => !alive[i]).map((lease) => lease.lose()));
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
