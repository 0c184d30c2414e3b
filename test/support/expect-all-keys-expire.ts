import type { Redis } from 'ioredis';
import { expect } from '@jest/globals';

/** Every key has a time to live, on each of these servers; on a cluster, give it all the masters. */
export async function expectAllKeysExpire(...clients: Redis[]): Promise<void> {
  const scans = await Promise.all(clients.map(timesToLive));
  const all = scans.flat();
  // A scan of nothing shows nothing.
  expect(all.length).toBeGreaterThan(0);
  expect(all.filter(([, ttl]) => ttl === -1)).toEqual([]);
}

async function timesToLive(client: Redis): Promise<(readonly [key: string, ttl: number])[]> {
  const keys = await client.keys('*');
  return Promise.all(keys.map(async (key) => [key, await client.pttl(key)] as const));
}
