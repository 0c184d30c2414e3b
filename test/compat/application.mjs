import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bundleApplication } from '../bundle/bundle-application.mjs';
import { copyPackages, installed } from './installed.mjs';
import { addTarball } from './npm.mjs';

const run = promisify(execFile);
// What npm says when a package does not fit those that are there, or is no longer looked after.
const COMPLAINTS = /ERESOLVE|peer|deprecated|nestjs-floodgate/i;

/**
 * Makes an application in a folder of its own, adds the tarball to it and compiles it, types checked.
 * @returns {Promise<{ home: string, main: string, versions: Record<string, string>, added: number }>}
 */
export async function makeApplication(folder, tarball, parent) {
  const source = join(import.meta.dirname, folder);
  const manifest = readFileSync(join(source, 'package.json'), 'utf8');
  const home = join(parent, folder);
  mkdirSync(home);
  for (const files of [join(import.meta.dirname, 'app'), source])
    cpSync(files, home, { recursive: true });
  copyPackages(await installed(folder, manifest), home);
  const { added, warnings } = await addTarball(tarball, home);
  if (COMPLAINTS.test(warnings)) throw new Error(`npm complains in ${folder}:\n${warnings}`);
  await compile(home);
  const { dependencies, devDependencies } = JSON.parse(manifest);
  const versions = { ...dependencies, ...devDependencies };
  return { home, main: join(home, 'dist', 'src', 'main.js'), versions, added };
}

/** Makes one file of a compiled application, in a folder that has nothing else. */
export async function makeBundle({ format, file }, { main, versions }, parent) {
  const home = join(parent, `bundle-${format}`);
  const outfile = join(home, file);
  const missing = await bundleApplication({ entry: main, outfile, format });
  if (missing.length > 0) throw new Error(`${file} still imports ${missing.join(', ')}`);
  return { home, main: outfile, versions };
}

async function compile(home) {
  const tsc = join('node_modules', 'typescript', 'bin', 'tsc');
  try {
    await run(process.execPath, [tsc, '-p', '.'], { cwd: home });
  } catch (error) {
    throw new Error(`The application in ${home} does not compile:\n${error.stdout}`, {
      cause: error,
    });
  }
}
