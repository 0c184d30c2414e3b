// @ts-check
// Runs no-servers.mjs in a process of its own: what it changes could not be changed back.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const ATTEMPTS = `
  import './no-servers.mjs';
  import { spawn } from 'node:child_process';
  import { createServer } from 'node:http';
  const messageOf = (attempt) => { try { attempt(); } catch (error) { return error.message; } };
  console.log(JSON.stringify({
    server: messageOf(() => createServer().listen(0)),
    process: messageOf(() => spawn('true')),
  }));`;

/** @returns {Promise<{ server?: string, process?: string }>} the errors that the attempts got */
export async function refusals() {
  const args = ['--input-type=module', '--eval', ATTEMPTS];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: import.meta.dirname,
  });
  return JSON.parse(stdout);
}
