// @ts-check
// Finds a Redis or Valkey to test on: REDIS_SERVER_BIN, then the PATH, then the packages of the
// distribution, unpacked under node_modules/.cache without root and without touching the system,
// and at last one that runs in WebAssembly.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { librariesIn, unpackPackages } from './debian.mjs';
import { firstOnPath } from './path.mjs';
import { valkeyWasm } from './valkey-wasm.mjs';

/**
 * How to run a server. One that is not native runs alone: no cluster, no sentinels, few options.
 *
 * @typedef {{ command: string[], env: Record<string, string>, isNative: boolean, from: string,
 *   version: string }} Program
 */

const CACHE = join(process.cwd(), 'node_modules', '.cache', 'redis-server');
const FOUND = 'TEST_REDIS_SERVER';

/** @returns {Program} */
export function findRedisServer() {
  const known = process.env[FOUND];
  return known ? JSON.parse(known) : (fromVariable() ?? fromSources());
}

/**
 * Spares the processes of this run from looking again.
 *
 * @param {Program} program
 */
export function remember(program) {
  process.env[FOUND] = JSON.stringify(program);
}

/** What was asked for by name is that or an error, never something else. */
function fromVariable() {
  const bin = process.env['REDIS_SERVER_BIN'];
  if (!bin) return undefined;
  if (bin === 'valkey-wasm') return valkeyWasm();
  try {
    return native(bin, {}, 'REDIS_SERVER_BIN');
  } catch (error) {
    throw new Error(`REDIS_SERVER_BIN cannot be used: ${reasonOf(error)}`, { cause: error });
  }
}

function fromSources() {
  for (const source of [fromPath, fromDebian, valkeyWasm]) {
    try {
      const found = source();
      if (found) return found;
    } catch (error) {
      console.warn(reasonOf(error));
    }
  }
  throw new Error(
    'No Redis to test on: install redis-server or valkey-server, or set REDIS_SERVER_BIN.',
  );
}

function fromPath() {
  const bin = firstOnPath('redis-server', 'valkey-server');
  return bin && native(bin, {}, 'PATH');
}

function fromDebian() {
  if (!firstOnPath('apt-get') || !firstOnPath('dpkg')) return undefined;
  const root = unpackPackages(CACHE, ['redis-server', 'redis-tools']);
  const env = { LD_LIBRARY_PATH: librariesIn(root) };
  return native(join(root, 'usr/bin/redis-server'), env, 'Debian packages');
}

/**
 * @param {string} bin
 * @param {Record<string, string>} env
 * @param {string} from
 * @returns {Program}
 */
function native(bin, env, from) {
  const asked = spawnSync(bin, ['--version'], {
    env: { ...process.env, ...env },
    encoding: 'utf8',
  });
  const [, name, number] = /^(\w+) server v=(\S+)/.exec(asked.stdout ?? '') ?? [];
  if (!name)
    throw new Error(`${bin} is no Redis: ${asked.error ?? (asked.stderr || asked.stdout)}`);
  return { command: [bin], env, isNative: true, from, version: `${name} ${number}` };
}

/** @param {unknown} error */
function reasonOf(error) {
  return error instanceof Error ? error.message.split('\n')[0] : String(error);
}
