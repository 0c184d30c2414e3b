import type { Cluster, Redis } from 'ioredis';

/** A connection to one server (alone, or the master that sentinels tell), or to a cluster. */
export type RedisClient = Redis | Cluster;

/** Where keys live, and how those servers are. */
export interface RedisServers {
  readonly client: RedisClient;
  /** Servers to be asked about themselves: the only one, or every master. */
  masters(): readonly Redis[];
  /** Only keys of one slot can be part of one command. */
  slotOf(key: string): number;
  /** The server that holds a slot, by a name for people; '' where there is only one. */
  nodeOf(slot: number): string;
  /** Why nothing can be sent; undefined when it can. */
  whyNotReady(): string | undefined;
  /** Drops a socket that may be out of step, and connects anew. */
  reconnect(node: string): void;
  /** A connection to listen on, which the caller ends. */
  subscriber(): RedisClient;
  /** Calls with every connection that becomes usable, and those that are. */
  onConnect(listener: (node: Redis) => void): void;
  /** Ends the connection for good. */
  close(): void;
  /** Makes a script known where a slot lives: to what is sent next, not when it returns. */
  load(script: string, slot: number): void;
}
