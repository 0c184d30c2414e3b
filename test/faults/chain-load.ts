import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { RateLimiter, RateLimitReason } from '../../lib/index.js';
import { LOAD_PLANS } from '../support/load.js';

const CALLERS = 10;
const PAUSE_MS = 2;

/** Callers that ask for a chain of two plans of the same key until they are stopped. */
export class ChainLoad {
  readonly errors: unknown[] = [];
  longestWaitMs = 0;
  readonly #reasons = new Map<RateLimitReason, number>();
  readonly #sinceMs = performance.now();
  readonly #asking: Promise<unknown>;
  #tookMs = 0;
  #stopped = false;

  constructor(
    private readonly limiter: RateLimiter,
    private readonly key: string,
  ) {
    this.#asking = Promise.all(Array.from({ length: CALLERS }, () => this.#ask()));
  }

  get calls(): number {
    return [...this.#reasons.values()].reduce((sum, count) => sum + count, 0);
  }

  count(reason: RateLimitReason): number {
    return this.#reasons.get(reason) ?? 0;
  }

  /** Calls that Redis admitted above what the narrower plan allows in that time. */
  get overAdmission(): number {
    const { capacity, tokensPerSecond } = LOAD_PLANS.tight;
    const allowed = capacity + (tokensPerSecond * this.#tookMs) / 1_000;
    return Math.max(0, Math.ceil(this.count('ALLOWED') - allowed));
  }

  async stop(): Promise<this> {
    this.#stopped = true;
    await this.#asking;
    this.#tookMs = performance.now() - this.#sinceMs;
    return this;
  }

  async #ask(): Promise<void> {
    while (!this.#stopped) {
      await this.#call().catch((error: unknown) => this.errors.push(error));
      await pause(PAUSE_MS);
    }
  }

  async #call(): Promise<void> {
    const beforeMs = performance.now();
    const { reason } = await this.limiter.allow(this.key, ['roomy', 'tight']);
    this.longestWaitMs = Math.max(this.longestWaitMs, performance.now() - beforeMs);
    this.#reasons.set(reason, this.count(reason) + 1);
  }
}
