// @ts-check
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { isOpen } from './ports.mjs';
import { until } from './until.mjs';

/** @typedef {import('./binary.mjs').Program} Program */

/**
 * How a server is started, and what it prints when it listens.
 *
 * @typedef {{ port: number, args: string[], sign: string, env?: NodeJS.ProcessEnv }} Start
 */

// On Linux the kernel ends the servers when the test process dies, even by SIGKILL.
const DIES_WITH_PARENT = existsSync('/usr/bin/setpriv')
  ? ['/usr/bin/setpriv', '--pdeathsig', 'KILL', '--']
  : [];

/** A server process that can be killed, halted, and started again where it was. */
export class RedisServer {
  #program;
  #start;
  #log = '';
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #child;

  /**
   * @param {Program} program
   * @param {Start} start
   */
  constructor(program, start) {
    this.#program = program;
    this.#start = start;
  }

  get port() {
    return this.#start.port;
  }

  get url() {
    return `redis://127.0.0.1:${this.port}`;
  }

  get child() {
    if (!this.#child) throw new Error(`the server on port ${this.port} was never started`);
    return this.#child;
  }

  /** Starts it and waits until it listens; it may be loading its data then. */
  async start() {
    const child = this.#launch();
    await until(`redis on port ${this.port}`, async () => {
      if (child.exitCode !== null) throw new Error(`redis ended: ${this.#log}`);
      // Its own word for it: an open port could belong to somebody else.
      return this.#log.includes(this.#start.sign) && (await isOpen(this.port));
    });
  }

  /** Ends it as a crash would. */
  async kill() {
    const { child } = this;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }

  /** Lets it hang: its port stays open, and nothing is answered. */
  halt() {
    this.child.kill('SIGSTOP');
  }

  resume() {
    this.child.kill('SIGCONT');
  }

  #launch() {
    const { command, env } = this.#program;
    const [file = '', ...args] = [...DIES_WITH_PARENT, ...command, ...this.#start.args];
    const child = spawn(file, args, {
      env: { ...process.env, ...env, ...this.#start.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#log = '';
    /** @param {Buffer} chunk */
    const keep = (chunk) => (this.#log = (this.#log + chunk.toString()).slice(-8_000));
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.once('error', keep);
    this.#child = child;
    return child;
  }
}

/**
 * A server that keeps everything in memory.
 *
 * @param {number} port
 * @param {string} home
 * @param {string[]} options
 * @returns {Start}
 */
export function standalone(port, home, options = []) {
  const where = ['--port', String(port), '--bind', '127.0.0.1', '--dir', home];
  const args = [...where, '--save', '', '--appendonly', 'no', ...options];
  return { port, args, sign: 'Server initialized' };
}
