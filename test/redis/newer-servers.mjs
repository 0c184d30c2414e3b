// @ts-check
// Redis and Valkey of a newer Debian than the system may be, each to be given as REDIS_SERVER_BIN.
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { librariesIn, unpackPackages } from './debian.mjs';

const CACHE = join(process.cwd(), 'node_modules', '.cache', 'newer-servers');
const KEYS = '[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]';
const RELEASE = {
  sources: [
    `deb ${KEYS} http://deb.debian.org/debian trixie main`,
    `deb ${KEYS} http://deb.debian.org/debian trixie-updates main`,
    `deb ${KEYS} http://deb.debian.org/debian-security trixie-security main`,
  ],
};

/** The paths of the servers; what is not there yet is fetched. */
export function newerServers() {
  return ['redis', 'valkey'].map((name) => {
    const script = join(CACHE, name, `${name}-server`);
    if (!existsSync(script)) write(script, name);
    return script;
  });
}

/**
 * A program of another release needs the loader and the libraries of that release.
 *
 * @param {string} script
 * @param {string} name
 */
function write(script, name) {
  const root = unpackPackages(join(CACHE, name), [`${name}-server`, `${name}-tools`], RELEASE);
  const libraries = librariesIn(root);
  const loader = readdirSync(libraries).find((file) => file.startsWith('ld-linux')) ?? '';
  const command = [
    join(libraries, loader),
    ...['--library-path', libraries, join(root, 'usr/bin', `${name}-server`)],
  ];
  const quoted = command.map((word) => `'${word}'`).join(' ');
  writeFileSync(script, `#!/bin/sh\nexec ${quoted} "$@"\n`, { mode: 0o755 });
}
