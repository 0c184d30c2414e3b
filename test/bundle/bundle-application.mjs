// One file of an application and all that it imports, by esbuild.
import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { build } from 'esbuild';

const MANIFEST = join(import.meta.dirname, '..', '..', 'package.json');
// What Nest asks for at run time and does without.
const OPTIONAL = [
  '@nestjs/microservices',
  '@nestjs/websockets',
  'class-transformer',
  'class-validator',
];
// What is bundled where it is installed, and else asked for only when it is used.
const WITHOUT_HARM = [
  ...OPTIONAL,
  ...Object.keys(JSON.parse(readFileSync(MANIFEST, 'utf8')).peerDependenciesMeta),
  'supports-color',
];
// In an ES module there is no require, which packages in CommonJS call for what Node brings along.
const REQUIRE = [
  "import { createRequire as makeRequire } from 'node:module';",
  'const require = makeRequire(import.meta.url);',
].join('\n');

/**
 * @param {{ entry: string, outfile: string, format: 'esm' | 'cjs', alias?: Record<string, string> }} options
 * @returns {Promise<string[]>} what the file still imports, and does not find without packages
 */
export async function bundleApplication({ entry, outfile, format, alias = {} }) {
  const { metafile } = await build({
    entryPoints: [entry],
    outfile,
    format,
    bundle: true,
    platform: 'node',
    target: 'node20',
    alias,
    external: OPTIONAL,
    tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
    banner: format === 'esm' ? { js: REQUIRE } : {},
    logLevel: 'warning',
    metafile: true,
  });
  const imported = Object.values(metafile.outputs).flatMap(({ imports }) => imports);
  const paths = new Set(imported.map(({ path }) => path).filter((path) => !isBuiltin(path)));
  return [...paths].filter((path) => !isHarmless(path));
}

function isHarmless(path) {
  return WITHOUT_HARM.some((name) => path === name || path.startsWith(`${name}/`));
}
