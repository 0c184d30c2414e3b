import type { Cluster } from 'ioredis';
import { ClusterServers } from './cluster-servers.js';
import type { RedisClient, RedisServers } from './redis-servers.js';
import { SingleServer } from './single-server.js';

/** Tells by the client what it is connected to. */
export function serversOf(client: RedisClient): RedisServers {
  return isCluster(client) ? new ClusterServers(client) : new SingleServer(client);
}

export function isCluster(client: RedisClient): client is Cluster {
  return client.isCluster;
}
