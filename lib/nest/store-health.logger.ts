import { performance } from 'node:perf_hooks';
import { Logger } from '@nestjs/common';
import type { HealthListener } from '../redis/breaker.js';

/** One line about keys that cannot be read is enough for so long. */
const UNREADABLE_QUIET_MS = 60_000;

/** Tells when limits stop being shared and when they are again: one line each, never one per request. */
export class StoreHealthLogger implements HealthListener {
  readonly #logger = new Logger('RateLimit');
  #quietUntilMs = 0;

  onDown(node: string, reason: string): void {
    this.#logger.warn(`Limits${on(node)} are no longer shared: Redis does not answer (${reason}).`);
  }

  onUp(node: string, downMs: number, decidedWithout: number): void {
    const seconds = (downMs / 1_000).toFixed(1);
    this.#logger.log(
      `Limits${on(node)} are shared again: Redis was away for ${seconds} s, ` +
        `${decidedWithout} decisions were made without it.`,
    );
  }

  onUnreadable(plan: string): void {
    const nowMs = performance.now();
    if (nowMs < this.#quietUntilMs) return;
    this.#quietUntilMs = nowMs + UNREADABLE_QUIET_MS;
    this.#logger.warn(
      `A key of plan "${plan}" in Redis holds something that is not a limit, so that its requests ` +
        'are decided as if Redis were away. Delete the key, or use another keyPrefix.',
    );
  }
}

/** Which part of a cluster it is about. */
function on(node: string): string {
  return node === '' ? '' : ` on ${node}`;
}
