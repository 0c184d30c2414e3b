import { createHash, randomInt } from 'node:crypto';
import type { RedisServers } from './redis-servers.js';

/** How often a server that keeps forgetting is told again, within one call. */
const MAX_TIMES_TOLD = 3;
const MAX_TICKET = 2 ** 31;

/** One row of numbers for all scripts and connections of the process, beginning anywhere. */
let lastTicket = randomInt(MAX_TICKET);

/** An answer that is not of the form a script promises: not ours, or not in step. */
export class MalformedReplyError extends Error {
  override readonly name = 'MalformedReplyError';
}

/**
 * A script that Redis knows by its hash. A server that has forgotten it, by SCRIPT FLUSH, a restart
 * or a failover, is told again within the same call. Needs no permission for EVAL.
 */
export class LuaScript {
  readonly #sha: string;

  constructor(readonly source: string) {
    this.#sha = createHash('sha1').update(source).digest('hex');
  }

  /** The answer, `length` elements, without the number that shows that it is the answer to this very question. */
  async run(
    servers: RedisServers,
    keys: readonly string[],
    args: readonly ScriptArgument[],
    length?: number,
  ): Promise<unknown[]> {
    const ticket = (lastTicket = (lastTicket + 1) % MAX_TICKET);
    for (let told = 0; ; told++) {
      try {
        const asking = servers.client.evalsha(this.#sha, keys.length, ...keys, ...args, ticket);
        return withoutTicket(await asking, ticket, length);
      } catch (error) {
        if (!isUnknownScript(error) || told === MAX_TIMES_TOLD) throw error;
      }
      // Not waited for: what follows on the same socket finds it there, and nothing comes between.
      servers.load(this.source, servers.slotOf(keys[0]!));
    }
  }
}

/** Redis takes everything as text. */
export type ScriptArgument = string | number;

/** A socket that lost or gained a reply hands every later one to the wrong caller. */
function withoutTicket(reply: unknown, ticket: number, length: number | undefined): unknown[] {
  const isOurs = Array.isArray(reply) && reply[0] === ticket;
  if (!isOurs || (length !== undefined && reply.length !== length + 1)) {
    throw new MalformedReplyError('Redis answered another question.');
  }
  return reply.slice(1);
}

function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}
