// @ts-check
// A sample as plain JavaScript, with the library beside it under its name, as in an application.
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { transformSync } from '@swc/core';
import jestConfig from '../../jest.config.js';
import { compileLib } from './compiled-lib.mjs';

const ROOT = join(import.meta.dirname, '..', '..');
// Below the packages of the project, where Node looks for Nest.
const CACHE = join(ROOT, 'node_modules', '.cache');
const [, TRANSFORM] = jestConfig.transform['^.+\\.ts$'];

/**
 * Compiles a sample as the test runner does.
 *
 * @param {string} name such as `01-quick-start`
 * @returns its main file, and what to call when it is no longer needed
 */
export function compileSample(name) {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, `${name}-`));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  writePackage(join(folder, 'node_modules', 'nestjs-floodgate'));
  const source = join(ROOT, 'sample', name);
  for (const file of readdirSync(source)) {
    if (/\.(json|yml)$/.test(file)) copyFileSync(join(source, file), join(folder, file));
    if (!file.endsWith('.ts')) continue;
    const text = readFileSync(join(source, file), 'utf8');
    const { code } = transformSync(text, { .../** @type {object} */ (TRANSFORM), filename: file });
    writeFileSync(join(folder, file.replace(/\.ts$/, '.js')), code);
  }
  const remove = () => rmSync(folder, { recursive: true, force: true });
  return { main: join(folder, 'main.js'), remove };
}

/** @param {string} folder */
function writePackage(folder) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module", "exports": "./index.js" }\n');
  writeFileSync(join(folder, 'index.js'), `export * from ${JSON.stringify(compileLib())};\n`);
}
