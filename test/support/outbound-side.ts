import type { LimitStore } from '../../lib/core/limit-store.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { MonotonicClock } from '../../lib/memory/monotonic-clock.js';
import type { OutboundOptions } from '../../lib/nest/outbound-options.js';
import { checkOutboundOptions } from '../../lib/nest/outbound-options.js';
import { Outbound } from '../../lib/nest/outbound.js';

const NO_KEEPER = { hold: () => undefined, drop: () => undefined, limitHold: () => undefined };
const GENEROUS = { requestsPerSecond: 1_000, burstCapacity: 1_000 };

/** The outbound side as the module makes it, in real time. */
export function outboundSide(
  options: OutboundOptions = {},
  store: LimitStore = new MemoryStore(new MonotonicClock()),
): Outbound {
  return new Outbound(checkOutboundOptions({ default: GENEROUS, ...options }), {
    store,
    keeper: NO_KEEPER,
  });
}
