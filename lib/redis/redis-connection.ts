import type { Redis } from 'ioredis';
import { definePlan } from '../core/define-plan.js';
import type { LimitStore } from '../core/limit-store.js';
import type { Connection } from './fail-safe-store.js';

/** Written by the probe: a bucket like any other, gone after a second. */
const PROBE_LIMIT = {
  plan: definePlan('probe', { capacity: 1_000_000, tokensPerSecond: 1_000_000 }),
  key: 'probe',
  cost: 1,
};

/** Tells the fail-safe how its connection to Redis is. */
export class RedisConnection implements Connection {
  constructor(
    private readonly client: Redis,
    private readonly store: LimitStore,
  ) {}

  isReady(): boolean {
    return this.client.status === 'ready';
  }

  reconnect(): void {
    this.client.disconnect(true);
  }

  /** A write through the very script: PING also answers where nothing can be written. */
  async probe(): Promise<void> {
    await this.store.decide({ limits: [PROBE_LIMIT], mode: 'take', maxWaitUs: 0, leaseId: '' });
  }
}
