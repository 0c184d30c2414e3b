import type { createFarm } from '../redis/farm.mjs';

export { createFarm, freePort, until } from '../redis/farm.mjs';

/** Starts servers of a spec's own, which it may kill. */
export type Farm = ReturnType<typeof createFarm>;
export type ClusterServers = Awaited<ReturnType<Farm['cluster']>>;
export type SentinelServers = Awaited<ReturnType<Farm['sentinel']>>;

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The servers that all specs of a run share: nobody kills them, and nobody flushes them. */
export const sharedRedis = {
  get url(): string {
    return read('TEST_REDIS_URL');
  },

  get cluster(): Address[] {
    return JSON.parse(read('TEST_REDIS_CLUSTER')) as Address[];
  },

  get sentinel(): { name: string; sentinels: Address[] } {
    return JSON.parse(read('TEST_REDIS_SENTINEL')) as { name: string; sentinels: Address[] };
  },
};

function read(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: test/global-setup.mjs sets it.`);
  return value;
}
