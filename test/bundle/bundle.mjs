// node test/bundle/bundle.mjs <esm|cjs> <file>: makes one file of app.ts and all that it imports, and
// prints what the file still imports. In a process of its own, as esbuild refuses the test runner's.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileLib } from '../support/compiled-lib.mjs';
import { bundleApplication } from './bundle-application.mjs';

const [, , format, outfile] = process.argv;

const missing = await bundleApplication({
  entry: join(import.meta.dirname, 'app.ts'),
  outfile,
  format,
  alias: { 'nestjs-floodgate': fileURLToPath(compileLib()) },
});
console.log(JSON.stringify(missing));
