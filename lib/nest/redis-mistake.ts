import { Mistake } from '../core/check/mistake.js';
import type { Path } from '../core/check/path.js';
import type { RedisSource } from '../redis/connect.js';

/** Options of ioredis that tell where a server is. */
const PLACES = ['host', 'port', 'path', 'sentinels', 'nodes'];

/** Checks the option `redis`. Never shows the value: it can hold a password. */
export function redisSource(value: unknown, path: Path): RedisSource {
  const problem = redisMistake(value);
  if (problem === undefined) return value as RedisSource;
  const expected = 'a URL, options of ioredis, nodes of a cluster or an ioredis client';
  throw new Mistake(path, `expected ${expected}: ${problem}`);
}

/** What is wrong with the option `redis`, without a word of its value: that can hold a password. */
export function redisMistake(value: unknown): string | undefined {
  if (typeof value === 'string') return urlMistake(value);
  if (Array.isArray(value)) return nodesMistake(value);
  if (typeof value !== 'object' || value === null) return `this is a ${typeof value}.`;
  if (value instanceof URL) return 'this is a URL object; pass its href, a string.';
  if ('isCluster' in value) return undefined;
  if ('sendCommand' in value || 'connect' in value) {
    return 'this is a client of another library; pass the URL instead.';
  }
  return optionsMistake(value as Record<string, unknown>);
}

function urlMistake(url: string): string | undefined {
  if (!/^rediss?:\/\//.test(url)) return 'a URL begins with redis:// or rediss://.';
  if (URL.canParse(url)) return undefined;
  return (
    'this is not a URL. If it has a password with characters such as / or #, ' +
    'write encodeURIComponent(password).'
  );
}

function nodesMistake(nodes: readonly unknown[]): string | undefined {
  if (nodes.length === 0) return 'a cluster needs at least one node.';
  const areNodes = nodes.every(
    (node) => isPlace(node) || (typeof node === 'string' && urlMistake(node) === undefined),
  );
  return areNodes ? undefined : 'each node is { host, port } or a URL.';
}

function optionsMistake(options: Record<string, unknown>): string | undefined {
  if ('url' in options) return 'url is not an option of ioredis; pass the string alone.';
  if (!PLACES.some((place) => place in options)) {
    return `it does not say where Redis is (${PLACES.join(', ')}).`;
  }
  if ('nodes' in options) {
    return Array.isArray(options['nodes'])
      ? nodesMistake(options['nodes'])
      : 'nodes is an array of { host, port }.';
  }
  if ('sentinels' in options && typeof options['name'] !== 'string') {
    return 'sentinels need the name of the master: { sentinels, name }.';
  }
  return isPlace(options) || 'sentinels' in options
    ? undefined
    : 'host is a string and port a number.';
}

function isPlace(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { host, port } = value as { readonly host?: unknown; readonly port?: unknown };
  const isHost = host === undefined || (typeof host === 'string' && host !== '');
  const isPort = port === undefined || (Number.isInteger(port) && (port as number) > 0);
  return isHost && isPort;
}
