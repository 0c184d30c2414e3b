// Finds a real redis-server or valkey-server: REDIS_SERVER_BIN, then the PATH, then the packages of
// the distribution, unpacked under node_modules/.cache without root and without touching the system.
import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const CACHE = join(process.cwd(), 'node_modules', '.cache', 'redis-server');
const PACKAGES = ['redis-server', 'redis-tools'];

/** @returns {{ bin: string, env: NodeJS.ProcessEnv, version: string, from: string }} */
export function findRedisServer() {
  const found = fromVariable() ?? fromPath() ?? fromDebian();
  if (!found) {
    throw new Error(
      'No Redis found: install redis-server or valkey-server, or set REDIS_SERVER_BIN.',
    );
  }
  const version = execFileSync(found.bin, ['--version'], { env: found.env }).toString().trim();
  return { ...found, version };
}

function fromVariable() {
  const bin = process.env.REDIS_SERVER_BIN;
  return bin ? { bin, env: process.env, from: 'REDIS_SERVER_BIN' } : undefined;
}

function fromPath() {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  const bin = ['redis-server', 'valkey-server']
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find(isExecutable);
  return bin ? { bin, env: process.env, from: 'PATH' } : undefined;
}

function fromDebian() {
  if (!isExecutable('/usr/bin/apt-get')) return undefined;
  const root = join(CACHE, 'root');
  const bin = join(root, 'usr/bin/redis-server');
  if (!existsSync(bin)) unpack(root);
  const libraries = readdirSync(join(root, 'usr/lib')).find((name) => name.endsWith('-linux-gnu'));
  const env = { ...process.env, LD_LIBRARY_PATH: join(root, 'usr/lib', libraries ?? '') };
  return { bin, env, from: 'Debian packages' };
}

function unpack(root) {
  const lists = join(CACHE, 'lists');
  const debs = join(CACHE, 'debs');
  for (const folder of [root, join(lists, 'partial'), join(CACHE, 'archives/partial'), debs]) {
    mkdirSync(folder, { recursive: true });
  }
  const own = [
    ...['-o', `Dir::State::lists=${lists}`, '-o', `Dir::Cache=${CACHE}`],
    ...['-o', 'Debug::NoLocking=1', '-o', 'APT::Sandbox::User='],
  ];
  execFileSync('apt-get', ['-q', ...own, 'update'], { stdio: 'pipe' });
  const wanted = [...PACKAGES, ...librariesOf(own)];
  execFileSync('apt-get', ['-q', ...own, 'download', ...wanted], { cwd: debs, stdio: 'pipe' });
  for (const deb of readdirSync(debs)) execFileSync('dpkg', ['-x', join(debs, deb), root]);
  for (const left of ['lists', 'archives', 'debs', 'pkgcache.bin', 'srcpkgcache.bin']) {
    rmSync(join(CACHE, left), { recursive: true, force: true });
  }
}

/** The libraries they need beside libc; their names differ between releases. */
function librariesOf(own) {
  const depends = execFileSync('apt-cache', [...own, 'depends', ...PACKAGES]).toString();
  const names = [...depends.matchAll(/^\s+Depends: (lib(?!c6)[\w.+-]+)$/gm)].map(
    ([, name]) => name,
  );
  return [...new Set(names)];
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
