// Writes lib/redis/lua.ts from the scripts beside this file, so that the package also works inside
// an application that is bundled into one file. A test fails when it was forgotten.
//
// A line `-- @part name` in a script stands for lua/parts/name.lua without its head comment, indented
// like the line. A part may ask for other parts in the same way. One that stands at the margin is put
// where it is first asked for; one inside a function (a step) may be asked for once in a script.
// Parts use what scripts declare at their top: call, pcall, pack, unpack, ceil, max and min, and what the
// parts constants and clock give. Their head comments say what else they expect.
import { readFileSync, writeFileSync } from 'node:fs';

const SCRIPTS = {
  DECIDE: 'decide',
  DECIDE_BUCKETS: 'decide_buckets',
  GIVE_BACK: 'give_back',
  RELEASE: 'release',
  RENEW: 'renew',
  GATE: 'gate',
  DOCUMENT: 'document',
  FORBIDDEN: 'forbidden',
};
const PART_LINE = /^( *)-- @part (\w+)\n/gm;
const HEAD_COMMENT = /^--\[\[.*?\]\]\n/s;

const readFile = (path) => readFileSync(new URL(path, import.meta.url), 'utf8');
const indent = (text, by) => text.replaceAll(/^(?=.)/gm, by);
const literal = (text) => `\`${text.replaceAll(/[\\`]|\$\{/g, (special) => `\\${special}`)}\``;

/** The text of a script with its parts. */
export function assemble(script, read = readFile) {
  const known = new Set();
  const splice = (text) =>
    text.replaceAll(PART_LINE, (_, margin, part) => {
      if (known.has(part) && margin === '') return '';
      if (known.has(part)) throw new Error(`${script}.lua asks for the part "${part}" twice.`);
      known.add(part);
      const source = read(`./parts/${part}.lua`);
      if (!HEAD_COMMENT.test(source)) throw new Error(`parts/${part}.lua has no head comment.`);
      return indent(splice(source.replace(HEAD_COMMENT, '')), margin);
    });
  return splice(read(`./${script}.lua`));
}

export const embedded = [
  '// Made from lua/*.lua and lua/parts/*.lua by `npm run lua`; change those.\n',
  ...Object.entries(SCRIPTS).map(
    ([constant, script]) =>
      `/** lua/${script}.lua */\nexport const ${constant}: string = ${literal(assemble(script))};\n`,
  ),
].join('\n');

if (process.argv[1] === new URL(import.meta.url).pathname) {
  writeFileSync(new URL('../lib/redis/lua.ts', import.meta.url), embedded);
}
