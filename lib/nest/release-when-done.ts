import { Logger } from '@nestjs/common';
import type { Lease } from '../core/lease.js';
import { whenDone } from './when-done.js';

/** Gives the slots back once, however the exchange ends. */
export function releaseWhenDone(lease: Lease, response: unknown): void {
  whenDone(response, () => void lease.release().catch(reportLostRelease));
}

/** Nobody waits for a release, so nobody else would hear of it. The slot comes back in time. */
export function reportLostRelease(error: Error): void {
  new Logger('RateLimit').warn(
    `A slot could not be given back, its lease will end: ${error.message}`,
  );
}
