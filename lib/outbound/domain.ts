import type { DomainLimits, QueueTies } from './domain-queue.js';
import { DomainQueue } from './domain-queue.js';
import { LimitStats } from './limit-stats.js';
import type { FoundRule } from './outbound-rules.js';
import type { CompleteThrottleRule } from './throttle-rule.js';
import { ThrottleStats } from './throttle-stats.js';

/** A domain that calls go to. Small: there may be thousands, and most of them have nobody waiting. */
export class Domain {
  readonly stats = new LimitStats();
  /** Blocks in a row, as far as this process has heard; −1 when it has not. */
  blocks = -1;
  /** How often its gate was heard of. */
  timesHeard = 0;
  /** When the last cooldown that was heard of ends; 0 when it is over. */
  cooldownEndsMs = 0;
  usedMs = 0;
  #queue: DomainQueue | undefined;
  #throttleStats: ThrottleStats | undefined;

  constructor(
    readonly name: string,
    public found: FoundRule,
    public throttle: CompleteThrottleRule,
    public limits: DomainLimits,
    private readonly ties: QueueTies,
  ) {}

  /** Those who wait, if there are any. */
  get queue(): DomainQueue | undefined {
    return this.#queue;
  }

  get throttleStats(): ThrottleStats {
    return (this.#throttleStats ??= new ThrottleStats());
  }

  get isIdle(): boolean {
    return this.#queue?.isIdle ?? true;
  }

  /** The queue to wait in. */
  openQueue(): DomainQueue {
    if (this.#queue) return this.#queue;
    const { probeTimeoutMs, memoryMs } = this.throttle;
    const gate = { key: this.name, probeUs: probeTimeoutMs * 1_000 };
    const memoryUs = memoryMs * 1_000;
    return (this.#queue = new DomainQueue(this.name, this.limits, gate, memoryUs, this.ties));
  }

  /** Forgets the queue when nobody is in it. Where slots are held, those who hold them know it. */
  closeIdleQueue(): void {
    if (this.#queue?.isIdle && !this.limits.slots) this.#queue = undefined;
  }
}
