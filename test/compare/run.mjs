// npm run compare [-- --write]: looks whether the comparison in the README is true, or writes it.
import { parseArgs } from 'node:util';
import { formatSection, readSection, tableOf, writeSection } from '../support/readme-section.mjs';
import { compare } from './table.mjs';

const SECTION = 'comparison';
const { values: flags } = parseArgs({ options: { write: { type: 'boolean', default: false } } });

const table = tableOf(await compare());
if (flags.write) await writeSection(SECTION, table);
const found = await formatSection(table);
console.log(found);
if (found.trim() !== readSection(SECTION).trim()) {
  console.error('The README says otherwise. Write it with: npm run compare -- --write');
  process.exitCode = 1;
}
