import type { LeaseTies } from '../core/held-slots.js';
import { Lease } from '../core/lease.js';
import { heldBy } from '../core/lent-slots.js';
import type { Decision } from '../core/limit-store.js';
import type { DomainStore } from './domain-store.js';
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
    const held = heldBy(decision, leaseId);
    const lease = held && new Lease(decision, held, this.#leaseTies);
    const waitedMs = Math.max(0, this.ties.ticker.nowMs() - arrivedMs);
    return new Permit(this.domain.name, waitedMs, generation, probeUntilUs, lease);
  }

  /** A slot that comes back is for whoever waits. */
  get #leaseTies(): LeaseTies {
    const { store, keeper } = this.ties;
    return { store, keeper, onRelease: () => void this.domain.tellFree() };
  }
}
