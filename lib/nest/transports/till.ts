import type { ExecutionContext } from '@nestjs/common';
import type { Awaitable } from '../../core/awaitable.js';
import type { Phase } from '../../core/keys/key-resolver.js';
import type { Lease } from '../../core/lease.js';
import type { Charge } from '../charge.js';
import type { HandlerChains, ReadyChain } from '../handler-chains.js';

/** One run of a handler, and the phase in which it is. */
export interface Run {
  readonly context: ExecutionContext;
  readonly phase: Phase;
  readonly handler: HandlerChains;
}

/** Where a run is charged. */
export interface Till {
  /** What chains cost the request of this run. */
  price(chains: readonly ReadyChain[], context: ExecutionContext): Awaitable<readonly Charge[]>;
  /** Charges all of it, or nothing. */
  acquire(charges: readonly Charge[]): Awaitable<Lease>;
}

/** Pays for a run by itself. */
export async function payNow(
  { context, phase, handler }: Run,
  till: Till,
): Promise<Lease | undefined> {
  const charges = await till.price(handler[phase], context);
  return charges.length === 0 ? undefined : till.acquire(charges);
}
