import type { Redis } from 'ioredis';
import { outsideRequests } from '../core/outside-requests.js';
import { watchHandshake } from './handshake-watch.js';
import type { RedisClient } from './redis-servers.js';

const RECONNECT_MS = 50;

/**
 * Connects again when a client has given up, which ours never mean to: a failover that sentinels
 * announce while ioredis is connecting ends it for good. Also drops a connection that hangs before it
 * is usable. Returns a function that closes the client permanently.
 */
export function keepAlive(client: RedisClient): () => void {
  if (!client.isCluster) watchHandshake(client as Redis);
  let isOver = false;
  client.on('end', () => {
    if (isOver) return;
    const connect = () => {
      if (!isOver) client.connect().catch(() => undefined);
    };
    outsideRequests(() => setTimeout(connect, RECONNECT_MS).unref());
  });
  return () => {
    isOver = true;
    client.disconnect();
  };
}
