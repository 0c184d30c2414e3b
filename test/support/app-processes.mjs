// Starts applications in processes of their own, to be killed, frozen or made to compete.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { compileLib } from './compiled-lib.mjs';

const SCRIPT = join(import.meta.dirname, 'app-process.mjs');
const SETPRIV = '/usr/bin/setpriv';
// A process that is frozen does not notice that its parent is gone; the kernel ends it.
const DIES_WITH_PARENT = existsSync(SETPRIV) ? [SETPRIV, '--pdeathsig', 'KILL', '--'] : [];

/**
 * Boots `RateLimitModule.forRoot(options)` in a process and waits until it is up. The answer has
 * `call(method, ...args)`, which calls the limiter there ('allow', 'acquire', …; a lease is named by
 * the `id` in the answer of 'acquire', for 'release', 'renew' and 'isHeld'), `kill(signal)` and `end()`.
 * Another script may answer to other methods.
 */
export async function startApp(options, script = SCRIPT) {
  const argument = JSON.stringify({ lib: compileLib(), options });
  const [command, ...rest] = [...DIES_WITH_PARENT, process.execPath, script, argument];
  const child = spawn(command, rest, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const waiting = new Map();
  let calls = 0;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const answer = (id) => new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  child.on('message', ({ id, answer: value, error }) => {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) resolve(value);
    else reject(new Error(error));
  });
  void ended.then(() => {
    for (const { reject } of waiting.values()) reject(new Error('the process has ended'));
  });
  await answer(calls++);

  return {
    call(method, ...args) {
      const id = calls++;
      child.send({ id, method, args });
      return answer(id);
    },
    kill: (signal) => child.kill(signal),
    ended,
    async end() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
