import type { Redis } from 'ioredis';
import { FORBIDDEN } from './lua.js';
import type { RedisServers } from './redis-servers.js';

/** What the scripts and a reset run, beside EVALSHA and SCRIPT LOAD. */
export const COMMANDS = [
  ...['time', 'hmget', 'hset', 'pexpire', 'del'],
  ...['zcount', 'zscore', 'zrangebyscore', 'zremrangebyscore', 'zadd', 'zcard', 'zrange', 'zrem'],
];

/** What outbound limits and gateways need beside them, to tell each other what changed. */
export const NEWS_COMMANDS = ['publish', 'subscribe'];

/** What outbound limits need beside them, to give up the turns of processes that have died. */
export const TURN_COMMANDS = ['hgetall', 'hdel'];

/** Looks for settings of the servers under which limits would fail or be forgotten. */
export async function checkServers(
  servers: RedisServers,
  keyPrefix: string,
  commands: readonly string[] = COMMANDS,
): Promise<string[]> {
  const masters = servers.masters();
  const policies = await Promise.all(masters.map(evictionPolicyOf));
  const forbidden = await Promise.all(
    masters.map((node) => forbiddenTo(node, keyPrefix, commands)),
  );
  const evicting = policies.find((policy) => policy !== undefined && policy !== 'noeviction');
  const missing = [...new Set(forbidden.flat())];
  const warnings: string[] = [];
  if (evicting !== undefined) warnings.push(evictionWarning(evicting));
  if (missing.length > 0) warnings.push(permissionWarning(missing, keyPrefix));
  return warnings;
}

function evictionWarning(policy: string): string {
  return (
    `Redis may forget limits when its memory is full, and counts them from zero then: ` +
    `its maxmemory-policy is "${policy}". Set it to "noeviction".`
  );
}

function permissionWarning(missing: readonly string[], keyPrefix: string): string {
  const rules = missing.map((command) => `+${command}`).join(' ');
  return (
    `The Redis user may not run ${missing.join(', ').toUpperCase()} on keys that start with ` +
    `"${keyPrefix}:", so that limits are not enforced. Give it: ~${keyPrefix}:* ${rules}`
  );
}

/** Undefined when the server does not say, or may not be asked. */
async function evictionPolicyOf(node: Redis): Promise<string | undefined> {
  try {
    return /^maxmemory_policy:(\S+)/m.exec(await node.info('memory'))?.[1];
  } catch {
    return undefined;
  }
}

async function forbiddenTo(
  node: Redis,
  keyPrefix: string,
  commands: readonly string[],
): Promise<string[]> {
  try {
    const sha = (await node.script('LOAD', FORBIDDEN)) as string;
    return (await node.evalsha(sha, 0, `${keyPrefix}:_probe:{probe}`, ...commands)) as string[];
  } catch (error) {
    // NOPERM … to run the 'script|load' command
    const command = /^NOPERM .*'([\w|]+)' command/.exec((error as Error).message)?.[1];
    return command === undefined ? [] : [command];
  }
}
