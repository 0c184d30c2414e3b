// What is compared: the library as it stands here, and the packages as they are published.
import { compileLib } from '../support/compiled-lib.mjs';
import { installPeers, peer } from '../bench/peers/peer.mjs';

installPeers();

export const floodgate = await import(compileLib());
export const throttler = peer('@nestjs/throttler');
export const throttlerOnRedis = peer('@nest-lab/throttler-storage-redis');
export const flexible = peer('rate-limiter-flexible');
export const Bottleneck = peer('bottleneck');

/** Column by column, as the README heads them. */
export const PRODUCTS = {
  floodgate: 'nestjs-floodgate',
  throttler: '@nestjs/throttler',
  flexible: 'rate-limiter-flexible',
  bottleneck: 'bottleneck',
};

/** Our limiter with an embedded store, on a clock of the caller's. */
export function embedded(plans, clock, maxLimits) {
  const { InMemoryPlanRegistry, MemoryStore, MonotonicClock, RateLimiter } = floodgate;
  const store = new MemoryStore(clock ?? new MonotonicClock(), maxLimits);
  const registry = new InMemoryPlanRegistry(plans);
  return { store, limiter: new RateLimiter({ registry, store, newLeaseId: () => 'lease' }) };
}
