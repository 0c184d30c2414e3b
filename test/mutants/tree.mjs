// @ts-check
// A copy of the working tree, in which lines may be broken.
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What was unpacked there is read only, and too much to unpack again. */
const SHARED_CACHES = ['redis-server'];

/**
 * Copies what Git has and would add, as it is on the disk, and links to the installed packages.
 *
 * @param {string} root
 */
export function copyTree(root) {
  const folder = mkdtempSync(join(tmpdir(), 'floodgate-mutants-'));
  const listed = execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
    {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
    },
  );
  for (const path of listed.split('\0').filter((one) => one && existsSync(join(root, one))))
    cpSync(join(root, path), join(folder, path));
  linkPackages(join(root, 'node_modules'), join(folder, 'node_modules'));
  return {
    folder,
    /**
     * @param {string} path
     * @param {string} text
     */
    write: (path, text) => writeFileSync(join(folder, path), text),
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }),
  };
}

/**
 * Each by itself, so that the copy has a cache of its own.
 *
 * @param {string} from
 * @param {string} to
 */
function linkPackages(from, to) {
  mkdirSync(join(to, '.cache'), { recursive: true });
  for (const name of readdirSync(from))
    if (name !== '.cache') symlinkSync(join(from, name), join(to, name));
  for (const name of SHARED_CACHES) {
    const cache = join(from, '.cache', name);
    if (existsSync(cache)) symlinkSync(cache, join(to, '.cache', name));
  }
}
