// Decisions of a two-plan chain in the process: ours and the peers', 10 000 keys in turn unless
// told otherwise; and the eight limits of a gateway.
import 'reflect-metadata';
import { serve } from './serve.mjs';
import { peer } from '../peers/peer.mjs';

const [, , contestant, keyCount = '10000'] = process.argv;
const PLENTY = 1_000_000_000;

async function floodgate(around = (store) => store) {
  const { InMemoryPlanRegistry, MemoryStore, MonotonicClock, RateLimiter } =
    await import('nestjs-floodgate');
  const limiter = new RateLimiter({
    registry: new InMemoryPlanRegistry({
      gold: { capacity: PLENTY, tokensPerSecond: 1_000 },
      daily: { capacity: PLENTY, tokensPerSecond: 10 },
    }),
    store: around(new MemoryStore(new MonotonicClock(), 1_000_000)),
    newLeaseId: () => '',
  });
  const plans = ['gold', 'daily'];
  return (key) => limiter.allow(key, plans, 1);
}

const contestants = {
  floodgate,
  async observed() {
    const { newObservation, Observed } = await import('../../../dist/nest/observed.js');
    const keeper = { hold: () => undefined, drop: () => undefined };
    return floodgate((store) => new Observed(newObservation(), store, keeper).store);
  },
  /** Eight limits, entered and released. */
  async gateway() {
    const { GatewayLimiter } = await import('nestjs-floodgate');
    const { boot } = await import('./application.mjs');
    const { enter, GATEWAY } = await import('./gateway-limits.mjs');
    const gateway = (await boot({ gateway: GATEWAY })).get(GatewayLimiter);
    return async (_key, turn) => (await enter(gateway, turn)).release();
  },
  async flexible() {
    const { RateLimiterMemory, RateLimiterUnion } = await peer('rate-limiter-flexible');
    const union = new RateLimiterUnion(
      new RateLimiterMemory({ points: PLENTY, duration: 60, keyPrefix: 'gold' }),
      new RateLimiterMemory({ points: PLENTY, duration: 86_400, keyPrefix: 'daily' }),
    );
    return (key) => union.consume(key, 1);
  },
  async throttler() {
    const { ThrottlerStorageService } = await peer('@nestjs/throttler');
    const storage = new ThrottlerStorageService();
    return async (key) => {
      await storage.increment(key, 60_000, PLENTY, 0, 'gold');
      await storage.increment(key, 86_400_000, PLENTY, 0, 'daily');
    };
  },
};

const decide = await contestants[contestant]();
const keys = Number(keyCount);
serve((turn) => decide(`user-${turn % keys}`, turn));
