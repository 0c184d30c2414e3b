// @ts-check
// Unpacks Debian packages into a folder, without root and without touching the system.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * What comes along. Of another release than that of the system: all libraries, the C library too. Of
 * the same one: those that are named by the packages, and on request those that these need.
 *
 * @typedef {{ sources?: string[], allLibraries?: boolean }} Release
 */

/** Fails soon where there is no network, and asks nobody for a password. */
const APT = [
  ...['-q', '-o', 'Debug::NoLocking=1', '-o', 'APT::Sandbox::User='],
  ...['-o', 'Acquire::Retries=0', '-o', 'Acquire::http::Timeout=15'],
];

/**
 * The folder into which the packages are unpacked, with the libraries that they need.
 *
 * @param {string} cache
 * @param {string[]} packages
 * @param {Release} [release]
 */
export function unpackPackages(cache, packages, release) {
  const root = join(cache, 'root');
  if (existsSync(root)) return root;
  const work = join(cache, `work-${process.pid}`);
  try {
    unpackInto(work, packages, release);
    // In one go: half of it is never taken for all.
    if (!existsSync(root)) renameSync(join(work, 'root'), root);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return root;
}

/**
 * Where the libraries are.
 *
 * @param {string} root
 */
export function librariesIn(root) {
  const folder = join(root, 'usr/lib');
  const architecture = readdirSync(folder).find((name) => name.endsWith('-linux-gnu'));
  return join(folder, architecture ?? '');
}

/**
 * @param {string} work
 * @param {string[]} packages
 * @param {Release} [release]
 */
function unpackInto(work, packages, release) {
  const [debs, root] = [join(work, 'debs'), join(work, 'root')];
  for (const folder of ['lists/partial', 'archives/partial', 'debs', 'root']) {
    mkdirSync(join(work, folder), { recursive: true });
  }
  const options = [...APT, ...placesIn(work), ...sourcesIn(work, release)];
  update(work, options);
  const libraries = librariesOf(packages, options, release);
  run('apt-get', [...options, 'download', ...packages, ...libraries], debs);
  for (const deb of readdirSync(debs)) run('dpkg', ['-x', join(debs, deb), root]);
}

/**
 * Lists that cannot be fetched are only a warning to apt.
 *
 * @param {string} work
 * @param {string[]} options
 */
function update(work, options) {
  const { stderr } = run('apt-get', [...options, 'update']);
  const lists = readdirSync(join(work, 'lists'));
  if (!lists.some((name) => name.includes('Packages'))) throw failure('apt-get update', stderr);
}

/** @param {string} work */
function placesIn(work) {
  return ['-o', `Dir::State::lists=${join(work, 'lists')}`, '-o', `Dir::Cache=${work}`];
}

/**
 * @param {string} work
 * @param {Release} [release]
 */
function sourcesIn(work, release) {
  if (!release?.sources) return [];
  const file = join(work, 'sources.list');
  writeFileSync(file, `${release.sources.join('\n')}\n`);
  return [
    ...['-o', `Dir::Etc::sourcelist=${file}`, '-o', 'Dir::Etc::sourceparts=-'],
    ...['-o', 'Dir::Etc::preferences=-', '-o', 'Dir::Etc::preferencesparts=-'],
    ...['-o', 'APT::Default-Release='],
  ];
}

/**
 * The libraries that they need; their names differ between releases. Servers of the system's own
 * release need one step only, and its C library stays: the system has the rest.
 *
 * @param {string[]} packages
 * @param {string[]} options
 * @param {Release} [release]
 */
function librariesOf(packages, options, { sources, allLibraries } = {}) {
  const all = sources !== undefined || allLibraries === true;
  /** @type {Set<string>} */
  const libraries = new Set();
  let next = packages;
  do {
    const { stdout } = run('apt-cache', [...options, 'depends', '--important', ...next]);
    const names = [...stdout.matchAll(/Depends: (lib[\w.+-]+)$/gm)].map(([, name]) => name ?? '');
    next = [...new Set(names)].filter((name) => !libraries.has(name));
    for (const name of next) libraries.add(name);
  } while (all && next.length > 0);
  if (!sources) libraries.delete('libc6');
  return libraries;
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {string} [cwd]
 */
function run(command, args, cwd) {
  const done = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (done.status !== 0) throw failure(command, done.stderr ?? String(done.error));
  return done;
}

/**
 * @param {string} command
 * @param {string} said
 */
function failure(command, said) {
  const [line = said] = said.split('\n').filter((one) => /^[EW]:/.test(one));
  return new Error(`Redis cannot be had from Debian packages: ${command} failed (${line.trim()}).`);
}
