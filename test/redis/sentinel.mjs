// @ts-check
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { standalone } from './server.mjs';
import { until } from './until.mjs';

/** @typedef {import('./farm.mjs').StartSomewhere} StartSomewhere */

const NAME = 'main';
const REPLICAS = 2;
const SENTINELS = 3;

const OPTIONS = ['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'];

/**
 * A master, two replicas, and three sentinels of whom two have to agree.
 *
 * @param {StartSomewhere} startSomewhere
 */
export async function startSentinel(startSomewhere) {
  const master = await startSomewhere((port, home) => standalone(port, home, OPTIONS));
  const followers = [...OPTIONS, '--replicaof', `127.0.0.1 ${master.port}`];
  const replicas = await times(REPLICAS, () =>
    startSomewhere((port, home) => standalone(port, home, followers)),
  );
  // Sentinels ask for replicas when they start, and then not again for ten seconds.
  await all('the replicas', replicas, isFollowing);
  const sentinels = await times(SENTINELS, () =>
    startSomewhere((port, home) => watcher(port, home, master.port)),
  );
  await all('the sentinels', sentinels, knowsAll);
  return {
    name: NAME,
    nodes: sentinels.map(({ port }) => ({ host: '127.0.0.1', port })),
    master,
    replicas,
    sentinels,
  };
}

/**
 * @param {number} count
 * @param {() => Promise<import('./server.mjs').RedisServer>} start
 */
function times(count, start) {
  return Promise.all(Array.from({ length: count }, start));
}

/**
 * Waits until something holds for all of them.
 *
 * @param {string} what
 * @param {import('./server.mjs').RedisServer[]} servers
 * @param {(client: Redis) => Promise<boolean>} holds
 */
async function all(what, servers, holds) {
  const clients = servers.map(({ port }) => new Redis(port));
  try {
    await until(what, async () => (await Promise.all(clients.map(holds))).every(Boolean));
  } finally {
    for (const client of clients) client.disconnect();
  }
}

/** @param {Redis} client */
async function isFollowing(client) {
  const [, , , link] = /** @type {unknown[]} */ (await client.role());
  return link === 'connected';
}

/**
 * @param {number} port
 * @param {string} home
 * @param {number} master
 * @returns {import('./server.mjs').Start}
 */
function watcher(port, home, master) {
  const file = join(home, 'sentinel.conf');
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${home}`,
    `sentinel monitor ${NAME} 127.0.0.1 ${master} 2`,
    `sentinel down-after-milliseconds ${NAME} 1000`,
    `sentinel failover-timeout ${NAME} 4000`,
    `sentinel parallel-syncs ${NAME} 1`,
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  return { port, args: [file, '--sentinel'], sign: '+monitor master' };
}

/**
 * Whether a failover could begin: it knows whom to ask, and whom to choose.
 *
 * @param {Redis} client
 */
async function knowsAll(client) {
  const said = /** @type {string[]} */ (await client.call('SENTINEL', 'MASTER', NAME));
  /** @param {string} field */
  const value = (field) => said[said.indexOf(field) + 1];
  return (
    value('num-slaves') === String(REPLICAS) &&
    value('num-other-sentinels') === String(SENTINELS - 1) &&
    value('flags') === 'master'
  );
}
