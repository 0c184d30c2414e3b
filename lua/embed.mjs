// Writes lib/redis/lua.ts from the scripts beside this file, so that the package also works inside
// an application that is bundled into one file. A test fails when it was forgotten.
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

const read = (name) => readFileSync(new URL(`./${name}.lua`, import.meta.url), 'utf8');
const literal = (text) => `\`${text.replaceAll(/[\\`]|\$\{/g, (special) => `\\${special}`)}\``;

export const embedded = [
  '// Made from lua/*.lua by `npm run lua`; change those.\n',
  ...Object.entries(SCRIPTS).map(
    ([constant, name]) =>
      `/** lua/${name}.lua */\nexport const ${constant}: string = ${literal(read(name))};\n`,
  ),
].join('\n');

if (process.argv[1] === new URL(import.meta.url).pathname) {
  writeFileSync(new URL('../lib/redis/lua.ts', import.meta.url), embedded);
}
