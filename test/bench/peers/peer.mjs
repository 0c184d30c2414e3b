// The other limiters that the benchmark compares with, installed beside this file and nowhere else.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);

export function peer(name) {
  return require(name);
}

export function installPeers() {
  const here = fileURLToPath(new URL('.', import.meta.url));
  if (existsSync(`${here}node_modules`)) return;
  // Their Nest is ours: a second copy would be a second application.
  const flags = ['--no-audit', '--no-fund', '--no-package-lock', '--legacy-peer-deps'];
  execFileSync('npm', ['install', ...flags], { cwd: here, stdio: 'ignore' });
}
