// @ts-check
import { Redis } from 'ioredis';
import { freePort } from './ports.mjs';
import { standalone } from './server.mjs';
import { until } from './until.mjs';

/** @typedef {import('./farm.mjs').StartSomewhere} StartSomewhere */

const MASTERS = 3;
const SLOTS = 16_384;

const OPTIONS = [
  ...['--cluster-enabled', 'yes', '--cluster-node-timeout', '1000'],
  // A replica stands for election however long its link was down.
  ...['--cluster-replica-validity-factor', '0'],
  ...['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'],
];

/**
 * Three masters and three replicas; `replicas[i]` follows `masters[i]`, until a failover.
 *
 * @param {StartSomewhere} startSomewhere
 */
export async function startCluster(startSomewhere) {
  const servers = await Promise.all(
    Array.from({ length: 2 * MASTERS }, () => startSomewhere(describeNode)),
  );
  const clients = servers.map(({ port }) => new Redis(port));
  try {
    await join(clients);
  } finally {
    for (const client of clients) client.disconnect();
  }
  return {
    nodes: servers.map(({ port }) => ({ host: '127.0.0.1', port })),
    masters: servers.slice(0, MASTERS),
    replicas: servers.slice(MASTERS),
  };
}

/** @type {import('./farm.mjs').Describe} */
async function describeNode(port, home) {
  // By itself the bus would be 10000 ports further, wherever that is.
  const bus = ['--cluster-port', String(await freePort())];
  return standalone(port, home, [...OPTIONS, ...bus]);
}

/** @param {Redis[]} clients */
async function join(clients) {
  const masters = clients.slice(0, MASTERS);
  await Promise.all(clients.map((client, i) => client.cluster('SET-CONFIG-EPOCH', i + 1)));
  await Promise.all(masters.map((client, i) => client.cluster('ADDSLOTSRANGE', ...slotsOf(i))));
  await introduce(clients);
  const ids = await Promise.all(masters.map((client) => client.cluster('MYID')));
  await Promise.all(clients.slice(MASTERS).map((client, i) => follow(client, ids[i] ?? '')));
  await until('the cluster', async () => (await Promise.all(clients.map(isWell))).every(Boolean));
}

/** @param {number} master */
function slotsOf(master) {
  const from = Math.floor((master * SLOTS) / MASTERS);
  const to = Math.floor(((master + 1) * SLOTS) / MASTERS) - 1;
  return [from, to];
}

/**
 * Introduces each to those before it, in one direction only: two that greet each other at the same
 * time may end up with two links or none.
 *
 * @param {Redis[]} clients
 */
async function introduce(clients) {
  const ports = await Promise.all(clients.map(portsOf));
  for (const [i, client] of clients.entries()) {
    for (const [port, bus] of ports.slice(0, i))
      await client.cluster('MEET', '127.0.0.1', port, bus);
  }
}

/**
 * @param {Redis} client
 * @returns {Promise<[port: string, bus: string]>}
 */
async function portsOf(client) {
  const [, port = ''] = /** @type {string[]} */ (await client.config('GET', 'port'));
  const [, bus = ''] = /** @type {string[]} */ (await client.config('GET', 'cluster-port'));
  return [port, bus];
}

/**
 * @param {Redis} client
 * @param {string} master
 */
async function follow(client, master) {
  const asked = () => client.cluster('REPLICATE', master).catch(() => 'not known yet');
  await until('a master to be known', async () => (await asked()) === 'OK');
}

/** @param {Redis} client */
async function isWell(client) {
  const info = await client.cluster('INFO');
  const nodes = String(await client.cluster('NODES')).split('\n');
  const [role, , , link] = /** @type {unknown[]} */ (await client.role());
  return (
    info.includes('cluster_state:ok') &&
    nodes.filter((node) => node.includes(' connected')).length === 2 * MASTERS &&
    nodes.filter((node) => node.includes('slave ')).length === MASTERS &&
    (role === 'master' || link === 'connected')
  );
}
