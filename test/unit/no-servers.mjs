// @ts-check
// Runs before each unit spec: whatever tries to start a server or a process gets an error.
import { ChildProcess } from 'node:child_process';
import { Server } from 'node:net';

Server.prototype.listen = () => refuse('a server');
Reflect.set(ChildProcess.prototype, 'spawn', () => refuse('a process'));

/**
 * @param {string} what
 * @returns {never}
 */
function refuse(what) {
  throw new Error(
    `A unit spec starts ${what}. Import what starts it where test/unit/groups.mjs sees it.`,
  );
}
