import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RedisServers } from '../../lib/redis/redis-servers.js';
import { serversOf } from '../../lib/redis/servers-of.js';
import { sharedRedis } from '../support/redis-servers.js';

describe('a single server', () => {
  let client: Redis;
  let servers: RedisServers;

  beforeEach(async () => {
    client = new Redis(sharedRedis.url);
    servers = serversOf(client);
    await client.ping();
  });

  afterEach(() => servers.close());

  const socket = () => (client as unknown as { readonly stream: Socket }).stream;

  it('has its socket dropped once, however many want it to be, and again when there is another', async () => {
    for (let round = 0; round < 2; round++) {
      const dropped = socket();
      const before = dropped.listenerCount('close');
      for (let i = 0; i < 20; i++) servers.reconnect('');
      expect(dropped.listenerCount('close')).toBe(before + 1);
      await once(client, 'ready');
      expect(socket()).not.toBe(dropped);
    }
  });
});
