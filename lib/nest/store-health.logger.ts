import { Logger } from '@nestjs/common';
import type { HealthListener } from '../redis/breaker.js';

/** Tells when limits stop being shared and when they are again: one line each, never one per request. */
export class StoreHealthLogger implements HealthListener {
  readonly #logger = new Logger('RateLimit');

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
}

/** Which part of a cluster it is about. */
function on(node: string): string {
  return node === '' ? '' : ` on ${node}`;
}
