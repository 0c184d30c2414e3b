// @ts-check
// Writes lib/dashboard/page.ts: the page with its style and its script, as one string that needs no
// file at run time. A test fails when it was forgotten.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { buildSync, transformSync } from 'esbuild';

/** @param {string} path */
const pathOf = (path) => fileURLToPath(new URL(path, import.meta.url));
/** @param {string} path */
const read = (path) => readFileSync(pathOf(path), 'utf8');
/** @param {string} text */
const literal = (text) => `\`${text.replaceAll(/[\\`]|\$\{/g, (special) => `\\${special}`)}\``;
/** @param {string} text */
const hashOf = (text) => `sha256-${createHash('sha256').update(text).digest('base64')}`;

const PLOT = '../../../node_modules/uplot';
const LICENCE = read(`${PLOT}/LICENSE`).trim();
const VERSION = JSON.parse(read(`${PLOT}/package.json`)).version;
const NOTICE = `/*! uPlot ${VERSION}, https://github.com/leeoniya/uPlot\n\n${LICENCE}\n*/\n`;
/** Browsers of the last two years: `light-dark()` needs no older ones. */
const TARGET = ['chrome123', 'firefox120', 'safari17.5'];

function script() {
  const { outputFiles } = buildSync({
    entryPoints: [pathOf('main.ts')],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: TARGET,
    charset: 'utf8',
    legalComments: 'none',
    tsconfigRaw: {},
  });
  return NOTICE + outputFiles[0]?.text.trim();
}

function style() {
  const css = read(`${PLOT}/dist/uPlot.min.css`) + read('style.css');
  const { code } = transformSync(css, { loader: 'css', minify: true, target: TARGET });
  return NOTICE + code.trim();
}

/** The page without the white space that only readers of its source need. */
function markup() {
  return read('index.html')
    .replaceAll(/(<pre>.*?<\/pre>)|\s*\n\s*/gs, (_, pre) => pre ?? ' ')
    .replaceAll('> <', '><')
    .replaceAll('><', '>\n<');
}

/**
 * @param {string} tag
 * @param {string} text
 */
function inside(tag, text) {
  if (text.toLowerCase().includes(`</${tag}`)) throw new Error(`The ${tag} would end too early.`);
  return `<${tag}>${text}</${tag}>`;
}

const [SCRIPT, STYLE] = [script(), style()];
const PAGE = markup()
  .replace(/<style>\s*<\/style>/, () => inside('style', STYLE))
  .replace(/<script>\s*<\/script>/, () => inside('script', SCRIPT));

export const embedded = [
  '// Made from lib/dashboard/page/ by `npm run page`; change that.\n',
  `/** lib/dashboard/page/index.html with its style and its script */\nexport const PAGE: string = ${literal(PAGE)};\n`,
  `/** What the script is allowed to be, as a Content-Security-Policy says it */\nexport const SCRIPT_HASH = '${hashOf(SCRIPT)}';\n`,
  `/** The same for the style */\nexport const STYLE_HASH = '${hashOf(STYLE)}';\n`,
].join('\n');

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(pathOf('../page.ts'), embedded);
}
