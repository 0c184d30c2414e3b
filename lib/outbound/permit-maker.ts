import type { LeaseTies } from '../core/lease.js';
import { Lease } from '../core/lease.js';
import type { Decision } from '../core/limit-store.js';
import type { DomainStore } from './domain-store.js';
import { lentBy } from './lent-slots.js';
import { Permit } from './permit.js';
import type { QueueTies } from './queue-ties.js';

/** Makes the permits of a domain out of decisions that said yes. */
export class PermitMaker {
  constructor(
    private readonly domain: DomainStore,
    private readonly ties: QueueTies,
  ) {}

  make(decision: Decision, leaseId: string, arrivedMs: number): Permit {
    const generation = decision.gate?.generation;
    const probeUntilUs = this.domain.probeUntilUs(decision);
    const lease = leaseId === '' ? undefined : this.#lease(decision, leaseId);
    const waitedMs = Math.max(0, this.ties.ticker.nowMs() - arrivedMs);
    return new Permit(this.domain.name, waitedMs, generation, probeUntilUs, lease);
  }

  #lease(decision: Decision, leaseId: string): Lease | undefined {
    const limits = lentBy(decision);
    return limits.length === 0
      ? undefined
      : new Lease(decision, { leaseId, limits }, this.#leaseTies);
  }

  /** A slot that comes back is for whoever waits. */
  get #leaseTies(): LeaseTies {
    const { store, keeper } = this.ties;
    return { store, keeper, onRelease: () => void this.domain.tellFree() };
  }
}
