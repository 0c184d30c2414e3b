// @ts-check
// npm run metrics [-- --json]: counts what can be counted in lib and marks what misses a target.
// Lines of a file are all its lines. Lines of a function are those from the `{` to the `}` of its
// body that hold more than blanks and comments: functions, methods, constructors, accessors, and
// arrows with a block. Generated files are left out. It reports and never fails.
import { join } from 'node:path';
import { measure } from './measure.mjs';
import { targetsOf } from './targets.mjs';

/** @typedef {import('./measure.mjs').Row} Row */
/** @typedef {import('./measure.mjs').Spread} Spread */

const metrics = measure(join(import.meta.dirname, '..', '..'));
const targets = targetsOf(metrics);

if (process.argv.includes('--json')) console.log(JSON.stringify({ ...metrics, targets }, null, 2));
else print();

function print() {
  console.table(Object.fromEntries([...metrics.rows, metrics.total].map(cellsOf)));
  console.log(`Left out, since generated: ${metrics.generated.join(', ')}\n`);
  for (const { what, value, atMost, isMet, found } of targets) {
    console.log(`${isMet ? 'ok    ' : 'MISSED'}  ${what}: ${value}, at most ${atMost}`);
    for (const line of found) console.log(`          ${line}`);
  }
}

/**
 * @param {Row} row
 * @returns {[string, Record<string, string | number>]}
 */
function cellsOf({ folder, files, lines, perFile, perFunction, casts }) {
  const cells = {
    files,
    lines,
    'per file: median / p90 / max': inARow(perFile),
    'per function: median / p90 / max': inARow(perFunction),
    'as casts': casts,
  };
  return [folder, cells];
}

/** @param {Spread} spread */
function inARow({ median, p90, max }) {
  return `${median} / ${p90} / ${max}`;
}
