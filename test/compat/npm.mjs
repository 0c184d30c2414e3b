import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const QUIET = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline'];
const UNREACHABLE =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENOTCACHED|ENETUNREACH|ERR_SOCKET_TIMEOUT)\b/;

/** The registry does not answer, and npm's cache does not have what is asked for. */
export class RegistryUnreachableError extends Error {}

/** Installs what the `package.json` of the folder names, and no lock file. */
export function install(folder) {
  return npm(['install', '--no-package-lock', '--no-bin-links', ...QUIET], folder);
}

/** Adds a tarball as a user would, and tells what npm said to it. */
export async function addTarball(file, folder) {
  const args = ['install', file, '--no-save', '--no-package-lock', '--no-bin-links', '--json'];
  const { stdout, stderr } = await npm([...args, ...QUIET], folder);
  return { added: JSON.parse(stdout).added, warnings: stderr };
}

/** Makes the tarball that would be published. */
export async function pack(project, destination) {
  const { stdout } = await npm(['pack', '--json', '--pack-destination', destination], project);
  return JSON.parse(stdout)[0];
}

async function npm(args, cwd) {
  try {
    // Said here, since a silent npm that runs this would be silent in there, too.
    return await run('npm', [...args, '--loglevel=warn'], { cwd, maxBuffer: 1e8 });
  } catch (error) {
    const said = `npm ${args.join(' ')} in ${cwd}:\n${error.stderr}${error.stdout}`;
    if (UNREACHABLE.test(said)) throw new RegistryUnreachableError(said, { cause: error });
    throw new Error(said, { cause: error });
  }
}
