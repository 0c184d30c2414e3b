// @ts-check
// Starts throw-away Redis servers on loopback: one alone, a cluster, a master with its sentinels.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRedisServer } from './binary.mjs';
import { startCluster } from './cluster.mjs';
import { freePort } from './ports.mjs';
import { startSentinel } from './sentinel.mjs';
import { RedisServer, standalone } from './server.mjs';

export { freePort } from './ports.mjs';
export { until } from './until.mjs';

/** @typedef {import('./server.mjs').Start} Start */

/**
 * Describes a server that listens on this port and lives in this folder.
 *
 * @typedef {(port: number, home: string) => Promise<Start> | Start} Describe
 */

/**
 * Starts a server on a port that it finds by itself.
 *
 * @typedef {(describe: Describe) => Promise<RedisServer>} StartSomewhere
 */

const ATTEMPTS = 5;

export function createFarm() {
  const program = findRedisServer();
  const folder = mkdtempSync(join(tmpdir(), 'floodgate-redis-'));
  /** @type {Set<RedisServer>} */
  const servers = new Set();

  const newHome = () => mkdtempSync(join(folder, 'server-'));

  /** @param {Start} description */
  async function launch(description) {
    const server = new RedisServer(program, description);
    servers.add(server);
    await server.start();
    return server;
  }

  /** @type {StartSomewhere} On another port when somebody takes the first in between. */
  async function startSomewhere(describe) {
    for (let attempt = 1; ; attempt++) {
      try {
        return await launch(await describe(await freePort(), newHome()));
      } catch (error) {
        if (attempt === ATTEMPTS || !isPortTaken(error)) throw error;
      }
    }
  }

  /**
   * Starts a server on this very port and waits until it listens.
   *
   * @param {number} port
   * @param {string[]} [options]
   * @param {NodeJS.ProcessEnv} [env]
   */
  async function start(port, options, env = {}) {
    const { child } = await launch({ ...standalone(port, newHome(), options), env });
    return child;
  }

  /** @param {string[]} [options] */
  function single(options) {
    return startSomewhere((port, home) => standalone(port, home, options));
  }

  async function cluster() {
    demandNative('a cluster');
    return startCluster(startSomewhere);
  }

  async function sentinel() {
    demandNative('sentinels');
    return startSentinel(startSomewhere);
  }

  /** @param {string} what */
  function demandNative(what) {
    if (!program.isNative) throw new Error(`${program.from} cannot run ${what}`);
  }

  async function stop() {
    await Promise.all([...servers].map((server) => server.kill()));
    rmSync(folder, { recursive: true, force: true });
  }

  return { program, start, single, cluster, sentinel, stop };
}

/** @param {unknown} error */
function isPortTaken(error) {
  return /Address already in use/i.test(String(error));
}
