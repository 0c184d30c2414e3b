// node test/bundle/bundle.mjs <esm|cjs> <file>: makes one file of app.ts and all that it imports, and
// prints what the file still imports. In a process of its own, as esbuild refuses the test runner's.
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { compileLib } from '../support/compiled-lib.mjs';

const [, , format, outfile] = process.argv;

// What Nest asks for at run time and does without.
const OPTIONAL = [
  '@nestjs/microservices',
  '@nestjs/websockets',
  'class-transformer',
  'class-validator',
];
// In an ES module there is no require, which packages in CommonJS call for what Node brings along.
const REQUIRE = [
  "import { createRequire as makeRequire } from 'node:module';",
  'const require = makeRequire(import.meta.url);',
].join('\n');

const { metafile } = await build({
  entryPoints: [join(import.meta.dirname, 'app.ts')],
  outfile,
  format,
  bundle: true,
  platform: 'node',
  target: 'node20',
  alias: { 'nestjs-floodgate': fileURLToPath(compileLib()) },
  external: OPTIONAL,
  tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
  banner: format === 'esm' ? { js: REQUIRE } : {},
  logLevel: 'warning',
  metafile: true,
});

const imported = Object.values(metafile.outputs).flatMap(({ imports }) => imports);
const paths = new Set(imported.map(({ path }) => path).filter((path) => !isBuiltin(path)));
const isOptional = (path) => OPTIONAL.some((name) => path === name || path.startsWith(`${name}/`));
console.log(JSON.stringify([...paths].filter((path) => !isOptional(path))));
