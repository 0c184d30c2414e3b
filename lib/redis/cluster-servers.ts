import type { Cluster, Redis } from 'ioredis';
import calculateSlot from 'cluster-key-slot';
import { LastError } from './last-error.js';
import type { RedisServers } from './redis-servers.js';

/** The servers of a cluster. */
export class ClusterServers implements RedisServers {
  readonly #lastError: LastError;

  constructor(readonly client: Cluster) {
    this.#lastError = new LastError(client);
    // ioredis connects to a node when it is first needed, and refuses commands until that is done.
    client.on('+node', (node: Redis) => {
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
    return this.client.duplicate();
  }

  /**
   * Only the owner of the slot is waited for, or a master that hangs would hold up the others. They
   * are told as well: while a slot moves, another one answers for it.
   */
  async load(script: string, slot: number): Promise<void> {
    const owner = this.#find(this.nodeOf(slot));
    const loading = this.masters().map(async (node) => {
      const loaded = node.script('LOAD', script).catch(() => undefined);
      if (owner === undefined || node === owner) await loaded;
    });
    await Promise.all(loading);
  }

  #find(node: string): Redis | undefined {
    return this.client
      .nodes('all')
      .find(({ options }) => `${options.host}:${options.port}` === node);
  }
}
