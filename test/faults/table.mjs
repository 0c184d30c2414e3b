// node test/faults/table.mjs <folder>: writes what the fault specs reported into the README.
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { tableOf, writeSection } from '../support/readme-section.mjs';

const TOPICS = ['Redis', 'network', 'application', 'clock', 'leases', 'Cluster', 'Sentinel'];

const folder = process.argv[2] ?? process.env.FAULT_REPORT;
if (!folder) throw new Error('Name the folder that the specs were given as FAULT_REPORT.');

const rows = readdirSync(folder)
  .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')))
  .sort((a, b) => TOPICS.indexOf(a.topic) - TOPICS.indexOf(b.topic) || a.position - b.position);
if (rows.length === 0) throw new Error(`${folder} holds no rows.`);

await writeSection('faults', tableOf(rows.map(rowOf)));
rmSync(folder, { recursive: true, force: true });

function rowOf({ topic, fault, longestWaitMs, errors, recoveryMs, overAdmission }) {
  return {
    fault: `${topic}: ${fault}`,
    'longest wait': inMs(longestWaitMs),
    errors,
    'shared again after': inMs(recoveryMs),
    'over-admission': overAdmission,
  };
}

function inMs(value) {
  if (value === null) return '–';
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}
