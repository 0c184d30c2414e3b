import type { LeaseTies } from '../core/held-slots.js';
import { Lease } from '../core/lease.js';
import { heldBy } from '../core/lent-slots.js';
import type { Decision } from '../core/limit-store.js';
import type { DomainStore } from './domain-store.js';
import { Permit } from './permit.js';
import type { QueueTies } from './queue-ties.js';
import { SlotTimes } from './slot-times.js';

/** Makes the permits of a domain out of decisions that said yes. */
export class PermitMaker {
  /** Made when the first slot comes back. */
  #slotTimes: SlotTimes | undefined;

  constructor(
    private readonly domain: DomainStore,
    private readonly ties: QueueTies,
  ) {}

  make(decision: Decision, leaseId: string, arrivedMs: number): Permit {
    const generation = decision.gate?.generation;
    const probeUntilUs = this.domain.probeUntilUs(decision);
    const held = heldBy(decision, leaseId);
    const nowMs = this.ties.ticker.nowMs();
    const lease = held && new Lease(decision, held, this.#leaseTiesFrom(nowMs));
    const waitedMs = Math.max(0, nowMs - arrivedMs);
    return new Permit(this.domain.name, waitedMs, generation, probeUntilUs, lease);
  }

  /** In about how many milliseconds there is a slot for who comes behind so many, if that is known. */
  slotWaitMs(waiting: number): number | undefined {
    const slots = this.domain.limits.slots?.plan.quota;
    return slots === undefined ? undefined : this.#slotTimes?.waitMs(waiting, slots);
  }

  /** A slot that comes back is for whoever waits. */
  #leaseTiesFrom(fromMs: number): LeaseTies {
    const { store, keeper, ticker } = this.ties;
    const onRelease = () => {
      (this.#slotTimes ??= new SlotTimes()).record(ticker.nowMs() - fromMs);
      void this.domain.tellFree();
    };
    return { store, keeper, onRelease };
  }
}
