// @ts-check
// npm run mutants [-- core redis … --count 20 --seed 1 --list survivors.json]: breaks lines of lib,
// one at a time, and tells whether a spec notices. The count is per room; without rooms all are
// tried. The same seed breaks the same lines. The working tree is only read: each of two workers
// breaks a copy of it. Rooms are the folders of lib.
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import globalSetup from '../global-setup.mjs';
import globalTeardown from '../global-teardown.mjs';
import { sampleMutants } from './mutants.mjs';
import { relatedSpecs } from './related.mjs';
import { createWorkers } from './workers.mjs';

const ROOT = join(import.meta.dirname, '..', '..');
const WORKERS = 2;

/** @typedef {import('./workers.mjs').Result} Result */

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    list: { type: 'string' },
  },
});
const rooms = positionals.length > 0 ? positionals : roomsOfLib();
for (const room of rooms)
  if (!roomsOfLib().includes(room))
    throw new Error(`There is no room "${room}". Name some of: ${roomsOfLib().join(', ')}`);
const [count, seed] = [wholeNumber('count'), wholeNumber('seed')];

let isStopping = false;
await globalSetup();
const workers = createWorkers(ROOT, WORKERS);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => void stop(130));
try {
  report(await tryMutants());
  await stop(0);
} catch (error) {
  if (!isStopping) console.error(error);
  await stop(1);
}

async function tryMutants() {
  const specsOf = relatedSpecs(ROOT);
  const tasks = sampleMutants(ROOT, { rooms, count, seed }).map((mutant) => ({
    mutant,
    specs: specsOf(mutant.path, mutant.room),
  }));
  const specs = [...new Set(tasks.flatMap((task) => task.specs))];
  console.log(`${tasks.length} mutants, ${specs.length} specs. Without a mutant:`);
  const normalMs = await workers.baseline(specs);
  for (const spec of specs)
    if (!normalMs.has(spec)) console.log(`  ${spec} fails, and is left out.`);
  console.log(`  ${normalMs.size} pass.`);
  /** @type {Result[]} */
  const results = [];
  await workers.tryAll(tasks, normalMs, (result) => {
    results.push(result);
    printOne(result);
  });
  return results;
}

/** @param {Result} result */
function printOne({ mutant, noticed, specs, ms }) {
  const { path, line, column, kind, was, now } = mutant;
  console.log(`\n${path}:${line}:${column}  ${kind}: ${was} -> ${now || '(nothing)'}`);
  const seconds = `${(ms / 1000).toFixed(1)} s`;
  if (noticed) console.log(`  noticed by ${noticed.by}: ${noticed.test} (${seconds})`);
  else console.log(`  SURVIVED ${specs.length} specs (${seconds})`);
}

/** @param {Result[]} results */
function report(results) {
  const rows = rooms.map((room) => [
    room,
    shareOf(results.filter((one) => one.mutant.room === room)),
  ]);
  console.table(Object.fromEntries([...rows, ['all', shareOf(results)]]));
  if (!values.list) return;
  const survivors = results
    .filter(({ noticed }) => !noticed)
    .map(({ mutant, specs }) => {
      return { ...mutant, text: undefined, specs };
    });
  writeFileSync(values.list, `${JSON.stringify(survivors, null, 2)}\n`);
}

/** @param {Result[]} results */
function shareOf(results) {
  const noticed = results.filter((one) => one.noticed).length;
  const share = results.length > 0 ? `${Math.round((100 * noticed) / results.length)} %` : '–';
  return { mutants: results.length, noticed, survived: results.length - noticed, share };
}

/**
 * The first to call it decides: workers that are stopped fail, and then the run ends, too.
 *
 * @param {number} code
 */
async function stop(code) {
  if (isStopping) return;
  isStopping = true;
  workers.close();
  await globalTeardown();
  process.exit(code);
}

function roomsOfLib() {
  return readdirSync(join(ROOT, 'lib'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}

/** @param {'count' | 'seed'} name */
function wholeNumber(name) {
  const value = Number(values[name]);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error(`--${name} must be a whole number, got "${values[name]}".`);
}
