// Puts a gateway together as an application does: on Redis, with leases that are renewed.
import { setInterval } from 'node:timers';

/** Renews what is held, three times within the length of a lease. */
class Keeper {
  #held = new Set();

  constructor(store, leaseMs) {
    setInterval(() => void this.#renew(store), leaseMs / 3).unref();
  }

  hold(lease) {
    this.#held.add(lease);
  }

  drop(lease) {
    this.#held.delete(lease);
  }

  async #renew(store) {
    const leases = [...this.#held].filter(({ held }) => held !== undefined);
    if (leases.length === 0) return;
    const alive = await store.renew(leases.map(({ held }) => held));
    await Promise.all(leases.filter((_, i) => !alive[i]).map((lease) => lease.lose()));
  }
}

const DEFAULTS = {
  keyPrefix: 'rate_limiter',
  deadlineMs: 50,
  onStoreFailure: 'open',
  localShare: 1,
  denyCache: true,
  publishes: true,
};
const NOBODY = { onDown() {}, onUp() {}, onUnreadable() {}, onOperation() {} };

/**
 * @param {object} lib the parts of the library that are needed
 * @param {object} options `redis`, `gateway` and other options of the module
 */
export async function startGateway(
  { createGateway, createRedisStores, MemoryStore, MonotonicClock },
  { redis, gateway: config, leaseMs = 1_000, ...options },
) {
  const { limits, documents } = await createRedisStores(
    redis,
    { ...DEFAULTS, ...options },
    {
      ...{ local: new MemoryStore(new MonotonicClock()), warn: () => undefined },
      ...{ health: NOBODY, operations: NOBODY },
    },
  );
  const { limiter, close } = await createGateway(config, {
    ...{ store: limits, documents, keeper: new Keeper(limits, leaseMs) },
    observer: { onLimit() {}, onChange() {}, onRefused() {}, log() {} },
  });
  const end = async () => {
    close();
    await limits.close();
  };
  return { limiter, end };
}
