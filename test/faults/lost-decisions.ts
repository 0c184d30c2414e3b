import type { RateLimiter } from '../../lib/index.js';
import type { Load } from '../support/load.js';
import { LOAD_PLANS } from '../support/load.js';

/** Decisions of a load that callers were told, and that the servers have forgotten. */
export async function lostDecisions(limiter: RateLimiter, load: Load): Promise<number> {
  const lost = [...load.admitted('roomy')].map(async ([key, told]) => {
    const { remainingTokens } = await limiter.peek(key, 'roomy');
    return Math.max(0, told - (LOAD_PLANS.roomy.capacity - remainingTokens));
  });
  return (await Promise.all(lost)).reduce((sum, one) => sum + one, 0);
}
