// Parts of the README that scripts write: all between `<!-- name:begin -->` and `<!-- name:end -->`.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';

const README = join(import.meta.dirname, '..', '..', 'README.md');

/**
 * What the README has there now.
 * @param {string} name of the section
 * @returns {string}
 */
export function readSection(name) {
  return cut(name).section;
}

/**
 * What {@link readSection} would return, had `text` been written.
 * @param {string} text as Markdown
 * @returns {Promise<string>}
 */
export async function formatSection(text) {
  return format(text, { ...(await resolveConfig(README)), parser: 'markdown' });
}

/**
 * Replaces what the README has there.
 * @param {string} name of the section
 * @param {string} text as Markdown
 */
export async function writeSection(name, text) {
  const { before, after } = cut(name);
  writeFileSync(README, `${before}\n\n${await formatSection(text)}\n${after}`);
}

/**
 * @param {{ [column: string]: string }[]} rows
 * @returns {string} a table whose header is the columns of the first row
 */
export function tableOf(rows) {
  const header = Object.keys(rows[0]);
  return [header, header.map(() => '---'), ...rows.map((row) => header.map((name) => row[name]))]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

function cut(name) {
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const [before, rest] = split(readFileSync(README, 'utf8'), begin);
  const [section, after] = split(rest, end);
  return { before: before + begin, section: `${section.trim()}\n`, after: end + after };
}

function split(whole, marker) {
  const parts = whole.split(marker);
  if (parts.length !== 2) throw new Error(`The README must hold ${marker} once.`);
  return parts;
}
