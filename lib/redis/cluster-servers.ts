import type { Cluster, Redis } from 'ioredis';
import calculateSlot from 'cluster-key-slot';
import { guardSubscriber } from './guarded-connector.js';
import { watchHandshake } from './handshake-watch.js';
import { keepAlive } from './keep-alive.js';
import { LastError } from './last-error.js';
import type { RedisServers } from './redis-servers.js';

/** The servers of a cluster. */
export class ClusterServers implements RedisServers {
  readonly #lastError: LastError;
  readonly #connectListeners: ((node: Redis) => void)[] = [];
  readonly close: () => void;

  constructor(readonly client: Cluster) {
    this.#lastError = new LastError(client);
    this.close = keepAlive(client);
    // ioredis connects to a node when it is first needed, and refuses commands until that is done.
    client.on('+node', (node: Redis) => {
      watchHandshake(node);
      listenToAsking(node);
      node.on('ready', () => {
        for (const listener of this.#connectListeners) listener(node);
      });
      node.connect().catch(() => undefined);
    });
  }

  masters(): readonly Redis[] {
    return this.client.nodes('master');
  }

  slotOf(key: string): number {
    return calculateSlot(key);
  }

  nodeOf(slot: number): string {
    return this.client.slots[slot]?.[0] ?? 'the cluster';
  }

  whyNotReady(): string | undefined {
    return this.client.status === 'ready' ? undefined : this.#lastError.reason;
  }

  reconnect(node: string): void {
    // It is forgotten, and connected to anew when it is needed.
    this.#find(node)?.disconnect();
  }

  subscriber(): Cluster {
    const redisOptions = { ...this.client.options.redisOptions, autoResubscribe: false };
    const cluster = this.client.duplicate([], { ...this.client.options, redisOptions });
    guardSubscriber(cluster);
    return cluster;
  }

  onConnect(listener: (node: Redis) => void): void {
    this.#connectListeners.push(listener);
    for (const node of this.client.nodes('all')) if (node.status === 'ready') listener(node);
  }

  /** The owner of the slot, and the others: while a slot moves, another one answers for it. */
  load(script: string): void {
    for (const node of this.masters()) node.script('LOAD', script).catch(() => undefined);
  }

  #find(node: string): Redis | undefined {
    return this.client
      .nodes('all')
      .find(({ options }) => `${options.host}:${options.port}` === node);
  }
}

/** ioredis sends ASKING before a redirected command, and lets its failure end the process. */
function listenToAsking(node: Redis): void {
  const ask: () => Promise<'OK'> = node.asking.bind(node);
  node.asking = () => {
    const answer = ask();
    answer.catch(() => undefined);
    return answer;
  };
}
