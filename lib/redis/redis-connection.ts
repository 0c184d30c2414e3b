import { definePlan } from '../core/define-plan.js';
import type { Limit, LimitStore } from '../core/limit-store.js';
import type { Connection } from './fail-safe-store.js';
import type { LimitPlaces } from './moving-slot-store.js';
import type { RedisKeys } from './redis-keys.js';
import type { RedisServers } from './redis-servers.js';

/** Written by the probe and gone after a second. Its name is one that no plan of a user can have. */
const PROBE_PLAN = {
  ...definePlan('probe', { capacity: 1_000_000, tokensPerSecond: 1_000_000 }),
  name: '_probe',
};

/** Tells the fail-safe how its connection to Redis is. */
export class RedisConnection implements Connection, LimitPlaces {
  constructor(
    private readonly servers: RedisServers,
    private readonly store: LimitStore,
    private readonly keys: RedisKeys,
  ) {}

  nodeOf(limit: Limit): string {
    return this.servers.nodeOf(this.slotOf(limit));
  }

  slotOf(limit: Limit): number {
    return this.servers.slotOf(this.nameOf(limit));
  }

  nameOf(limit: Limit): string {
    return this.keys.nameOf(limit);
  }

  whyNotReady(): string | undefined {
    return this.servers.whyNotReady();
  }

  reconnect(node: string): void {
    this.servers.reconnect(node);
  }

  /**
   * A write through the very script: PING also answers where nothing can be written. The key is the
   * limit's own, so that on a cluster it is the very slot that is tried, wherever it has moved.
   */
  async probe({ key }: Limit): Promise<void> {
    const limits = [{ plan: PROBE_PLAN, key, cost: 1 }];
    await this.store.decide({ limits, mode: 'take', maxWaitUs: 0, leaseId: '' });
  }
}
