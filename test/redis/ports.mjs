// @ts-check
// Ports for servers that tests start, kill, and start again where they were.
import { connect, createServer } from 'node:net';

// Below the ports that systems give to outgoing connections: nobody takes one of these by accident
// while its server is down.
const FIRST = 20_000;
const LAST = 32_000;

/** @type {Set<number>} */
const given = new Set();

/** A port on which nobody listens, and which was not given away before. */
export async function freePort() {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    if (given.has(port)) continue;
    given.add(port);
    if (await canListen(port)) return port;
  }
}

/**
 * @param {number} port
 * @returns {Promise<boolean>}
 */
export function isOpen(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}

/**
 * @param {number} port
 * @returns {Promise<boolean>}
 */
function canListen(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
