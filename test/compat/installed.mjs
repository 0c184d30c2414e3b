// Installs that outlive a run, one for each state of their package.json.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { install } from './npm.mjs';

const CACHE = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'compat');

/**
 * A folder with the `node_modules` of a package.json, from an earlier run if there was one.
 * @param {string} name of the install: an older one of the same name is dropped
 * @param {string} manifest text of the package.json
 * @returns {Promise<string>}
 */
export async function installed(name, manifest) {
  const hash = createHash('sha256').update(manifest).digest('hex').slice(0, 12);
  const folder = join(CACHE, `${name}-${hash}`);
  if (existsSync(folder)) return folder;
  dropOlder(name);
  // Made aside and moved in one step: half an install would be taken for one.
  const aside = join(CACHE, `aside-${name}-${process.pid}`);
  mkdirSync(aside, { recursive: true });
  try {
    writeFileSync(join(aside, 'package.json'), manifest);
    await install(aside);
    renameSync(aside, folder);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
  return folder;
}

/**
 * Gives `target` packages of its own. It must lie outside this project, or applications would find
 * here what they lack. The files are shared (npm replaces them and never writes into them), except
 * the one list that it does write.
 */
export function copyPackages(folder, target) {
  const list = join('node_modules', '.package-lock.json');
  execFileSync('cp', ['-a', ...linkable(folder, target), join(folder, 'node_modules'), target]);
  rmSync(join(target, list));
  copyFileSync(join(folder, list), join(target, list));
}

/** Links instead of copies, where both folders are on one file system. */
function linkable(folder, target) {
  const devices = [folder, target].map((path) => statSync(path).dev);
  return devices[0] === devices[1] ? ['-l'] : [];
}

function dropOlder(name) {
  mkdirSync(CACHE, { recursive: true });
  const older = new RegExp(`^${name}-[0-9a-f]{12}$`);
  for (const entry of readdirSync(CACHE))
    if (older.test(entry)) rmSync(join(CACHE, entry), { recursive: true, force: true });
}
