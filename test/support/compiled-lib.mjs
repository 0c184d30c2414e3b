// The library as plain JavaScript, for processes that run without the test runner.
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transformSync } from '@swc/core';
import jestConfig from '../../jest.config.js';

const ROOT = join(import.meta.dirname, '..', '..');
const CACHE = join(ROOT, 'node_modules', '.cache', 'compiled-lib');
const DAY_MS = 86_400_000;
const [, TRANSFORM] = jestConfig.transform['^.+\\.ts$'];

/**
 * Compiles `lib` as the test runner does, once for each state of its files.
 * @returns {string} the URL of its index
 */
export function compileLib() {
  const files = sourcesOf(join(ROOT, 'lib'));
  const folder = join(CACHE, fingerprint(files));
  if (!existsSync(folder)) build(files, folder);
  return pathToFileURL(join(folder, 'index.js')).href;
}

function sourcesOf(folder) {
  return readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith('.ts'))
    .sort()
    .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }));
}

function fingerprint(files) {
  const hash = createHash('sha256').update(JSON.stringify(TRANSFORM));
  for (const { name, text } of files) hash.update(`${name}\0${text}\0`);
  return hash.digest('hex').slice(0, 16);
}

/** Built aside and moved in one step: several test processes may come at the same time. */
function build(files, folder) {
  const aside = `${folder}.${process.pid}`;
  for (const { name, text } of files) {
    const target = join(aside, name.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, transformSync(text, { ...TRANSFORM, filename: name }).code);
  }
  writeFileSync(join(aside, 'package.json'), '{ "type": "module" }\n');
  try {
    renameSync(aside, folder);
  } catch (error) {
    rmSync(aside, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  dropOld();
}

/** Earlier states of the library, but none that another test run may still be using. */
function dropOld() {
  for (const name of readdirSync(CACHE)) {
    const folder = join(CACHE, name);
    const age = Date.now() - (statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > DAY_MS) rmSync(folder, { recursive: true, force: true });
  }
}
