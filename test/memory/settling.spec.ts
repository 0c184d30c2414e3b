import { InMemoryPlanRegistry } from '../../lib/core/in-memory-plan-registry.js';
import { RateLimiter } from '../../lib/core/rate-limiter.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { SETTLING_PLANS, settlingContract } from '../contract/settling.contract.js';
import { FakeClock } from '../support/fake-clock.js';

settlingContract('the process', () => {
  let leases = 0;
  const limiter = new RateLimiter({
    registry: new InMemoryPlanRegistry(SETTLING_PLANS),
    store: new MemoryStore(new FakeClock()),
    newLeaseId: () => `lease-${leases++}`,
  });
  return Promise.resolve({ limiter, close: () => Promise.resolve() });
});
