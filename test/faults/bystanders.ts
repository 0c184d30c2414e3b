import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { RateLimiter } from '../../lib/index.js';
import { until } from '../support/redis-servers.js';

const WARM_UP_CALLS = 50;

/** Callers whose keys live on servers that are well: a fault elsewhere is not to touch them. */
export class Bystanders {
  calls = 0;
  /** Those who were let pass without Redis. */
  failed = 0;
  longestWaitMs = 0;
  #stopped = false;
  readonly #asking: Promise<unknown>;

  constructor(
    private readonly limiter: RateLimiter,
    keys: readonly string[],
  ) {
    this.#asking = Promise.all(keys.map((key) => this.#ask(key)));
  }

  /** Forgets the first calls, which are about connections and not about faults. */
  async warmUp(): Promise<this> {
    await until('the bystanders', () => this.calls >= WARM_UP_CALLS);
    this.calls = this.failed = this.longestWaitMs = 0;
    return this;
  }

  async stop(): Promise<this> {
    this.#stopped = true;
    await this.#asking;
    return this;
  }

  async #ask(key: string): Promise<void> {
    while (!this.#stopped) {
      const beforeMs = performance.now();
      const { reason } = await this.limiter.allow(key, 'roomy');
      this.longestWaitMs = Math.max(this.longestWaitMs, performance.now() - beforeMs);
      this.calls++;
      if (reason !== 'ALLOWED') this.failed++;
      await pause(10);
    }
  }
}
