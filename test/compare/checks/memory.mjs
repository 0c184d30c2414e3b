// How many of many strangers are remembered at once, where a bound can be given.
import { Bottleneck, embedded, flexible, throttler } from '../products.mjs';

const [STRANGERS, BOUND] = [20_000, 1_000];
const strangers = Array.from({ length: STRANGERS }, (_, i) => `stranger-${i}`);

export const memory = {
  async floodgate() {
    const { limiter, store } = embedded({ hour: '10/hour' }, undefined, BOUND);
    for (const name of strangers) await limiter.allow(name, 'hour');
    return verdict(store.size);
  },
  async throttler() {
    const storage = new throttler.ThrottlerStorageService();
    for (const name of strangers) await storage.increment(name, 3_600_000, 10, 0, 'hour');
    const { size } = storage.storage;
    storage.onApplicationShutdown();
    return verdict(size);
  },
  async flexible() {
    const limiter = new flexible.RateLimiterMemory({ points: 10, duration: 3_600 });
    for (const name of strangers) await limiter.consume(name);
    let kept = 0;
    for (const name of strangers) if (await limiter.get(name)) kept++;
    await Promise.all(strangers.map((name) => limiter.delete(name)));
    return verdict(kept);
  },
  async bottleneck() {
    const group = new Bottleneck.Group({ reservoir: 10 });
    for (const name of strangers) group.key(name);
    const kept = group.keys().length;
    await Promise.all(strangers.map((name) => group.deleteKey(name)));
    return verdict(kept);
  },
};

function verdict(kept) {
  if (kept === STRANGERS) return 'no: all until their time is over';
  return kept <= BOUND ? 'yes' : `no: ${kept} of ${STRANGERS}`;
}
