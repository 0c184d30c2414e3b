// Starts throw-away Redis servers on loopback: one alone, a cluster, a master with its sentinels.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRedisServer } from './binary.mjs';

// On Linux the kernel ends the servers when the test process dies, even by SIGKILL.
const DIES_WITH_PARENT = existsSync('/usr/bin/setpriv')
  ? ['/usr/bin/setpriv', '--pdeathsig', 'KILL', '--']
  : [];

export function createFarm() {
  const server = findRedisServer();
  const folder = mkdtempSync(join(tmpdir(), 'floodgate-redis-'));
  const children = new Set();

  /** Starts a server and waits until it listens. */
  async function start(port, extra = [], env = {}) {
    const home = mkdtempSync(join(folder, 'server-'));
    const options = ['--port', String(port), '--bind', '127.0.0.1', '--dir', home];
    const child = launch([...options, '--save', '', '--appendonly', 'no', ...extra], env);
    await until(`redis on port ${port}`, () => {
      if (child.exitCode !== null) throw new Error(`redis ended: ${child.log()}`);
      return isOpen(port);
    });
    return child;
  }

  function launch(args, env = {}) {
    const [command, ...rest] = [...DIES_WITH_PARENT, server.bin, ...args];
    const child = spawn(command, rest, {
      env: { ...server.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let log = '';
    const keep = (chunk) => (log = (log + chunk).slice(-4_000));
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.log = () => log;
    children.add(child);
    child.once('exit', () => children.delete(child));
    return child;
  }

  async function single(extra) {
    const port = await freePort();
    const child = await start(port, extra);
    return { port, url: `redis://127.0.0.1:${port}`, child };
  }

  async function stop() {
    const ends = [...children].map(
      (child) => new Promise((resolve) => child.once('exit', resolve)),
    );
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(ends);
    rmSync(folder, { recursive: true, force: true });
  }

  return { version: server.version, from: server.from, start, single, stop };
}

/** Waits until a condition holds. */
export async function until(what, condition, timeoutMs = 20_000) {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`timed out waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function isOpen(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
