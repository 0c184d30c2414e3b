import { outsideRequests } from '../core/outside-requests.js';
import type { RedisClient } from './redis-servers.js';

const RECONNECT_MS = 50;

/**
 * Connects again when a client has given up, which ours never mean to: a failover that sentinels
 * announce while ioredis is connecting ends it for good. Returns what ends the client in earnest.
 */
export function keepAlive(client: RedisClient): () => void {
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
