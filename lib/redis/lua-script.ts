import { createHash } from 'node:crypto';
import type { RedisServers } from './redis-servers.js';

/**
 * A script that Redis knows by its hash. A server that has forgotten it, by SCRIPT FLUSH, a restart
 * or a failover, is told again within the same call. Needs no permission for EVAL.
 */
export class LuaScript {
  readonly #sha: string;

  constructor(private readonly source: string) {
    this.#sha = createHash('sha1').update(source).digest('hex');
  }

  async run(servers: RedisServers, keys: readonly string[], args: readonly ScriptArgument[]) {
    const { client } = servers;
    try {
      return await client.evalsha(this.#sha, keys.length, ...keys, ...args);
    } catch (error) {
      if (!isUnknownScript(error)) throw error;
    }
    await servers.load(this.source, servers.slotOf(keys[0]!));
    return client.evalsha(this.#sha, keys.length, ...keys, ...args);
  }
}

/** Redis takes everything as text. */
export type ScriptArgument = string | number;

function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}
