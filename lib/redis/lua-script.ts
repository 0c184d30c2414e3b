import { createHash } from 'node:crypto';
import type { Cluster, Redis } from 'ioredis';

/** A connection of our own, to one server or to a cluster. */
export type RedisClient = Redis | Cluster;

/**
 * A script that Redis knows by its hash. A server that has forgotten it, by SCRIPT FLUSH, a restart
 * or a failover, is told again within the same call. Needs no permission for EVAL.
 */
export class LuaScript {
  readonly #sha: string;

  constructor(private readonly source: string) {
    this.#sha = createHash('sha1').update(source).digest('hex');
  }

  async run(client: RedisClient, keys: readonly string[], args: readonly ScriptArgument[]) {
    try {
      return await client.evalsha(this.#sha, keys.length, ...keys, ...args);
    } catch (error) {
      if (!isUnknownScript(error)) throw error;
    }
    await this.load(client);
    return client.evalsha(this.#sha, keys.length, ...keys, ...args);
  }

  /** Tells every server that may be asked. */
  async load(client: RedisClient): Promise<void> {
    const servers = client.isCluster ? (client as Cluster).nodes('master') : [client as Redis];
    await Promise.all(servers.map((server) => server.script('LOAD', this.source)));
  }
}

/** Redis takes everything as text. */
export type ScriptArgument = string | number;

function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}
