// node test/faults/table.mjs <folder>: writes what the fault specs reported into the README.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';

const README = join(import.meta.dirname, '..', '..', 'README.md');
const BEGIN = '<!-- faults:begin -->';
const END = '<!-- faults:end -->';
const TOPICS = ['Redis', 'network', 'application', 'clock', 'leases', 'Cluster', 'Sentinel'];
const HEADER = ['fault', 'longest wait', 'errors', 'shared again after', 'over-admission'];

const folder = process.argv[2] ?? process.env.FAULT_REPORT;
if (!folder) throw new Error('Name the folder that the specs were given as FAULT_REPORT.');

const rows = readdirSync(folder)
  .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')))
  .sort((a, b) => TOPICS.indexOf(a.topic) - TOPICS.indexOf(b.topic) || a.position - b.position);
if (rows.length === 0) throw new Error(`${folder} holds no rows.`);

const readme = readFileSync(README, 'utf8');
const [before, rest] = split(readme, BEGIN);
const [, after] = split(rest, END);
const table = [HEADER, HEADER.map(() => '---'), ...rows.map(cellsOf)]
  .map((cells) => `| ${cells.join(' | ')} |`)
  .join('\n');
const text = `${before}${BEGIN}\n\n${table}\n\n${END}${after}`;
const options = { ...(await resolveConfig(README)), parser: 'markdown' };
writeFileSync(README, await format(text, options));
rmSync(folder, { recursive: true, force: true });

function cellsOf({ topic, fault, longestWaitMs, errors, recoveryMs, overAdmission }) {
  return [`${topic}: ${fault}`, inMs(longestWaitMs), errors, inMs(recoveryMs), overAdmission];
}

function inMs(value) {
  if (value === null) return '–';
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}

function split(whole, marker) {
  const parts = whole.split(marker);
  if (parts.length !== 2) throw new Error(`The README must hold ${marker} once.`);
  return parts;
}
