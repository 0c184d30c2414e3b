// The other limiters that the benchmark and the comparison look at, installed beside this file and nowhere else.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const HERE = import.meta.dirname;
const require = createRequire(import.meta.url);

export function peer(name) {
  return require(name);
}

export function installPeers() {
  const { dependencies } = JSON.parse(readFileSync(join(HERE, 'package.json'), 'utf8'));
  if (Object.entries(dependencies).every(([name, version]) => installed(name) === version)) return;
  // Their Nest and their ioredis are ours: a second Nest would be a second application, and another
  // ioredis would be measured instead of them.
  const flags = ['--no-audit', '--no-fund', '--no-package-lock', '--legacy-peer-deps'];
  execFileSync('npm', ['install', ...flags], { cwd: HERE, stdio: 'ignore', timeout: 120_000 });
}

function installed(name) {
  try {
    return JSON.parse(readFileSync(join(HERE, 'node_modules', name, 'package.json'), 'utf8'))
      .version;
  } catch {
    return undefined;
  }
}
