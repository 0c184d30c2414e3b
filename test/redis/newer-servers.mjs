// @ts-check
// Redis and Valkey of a newer Debian than the system may be, each to be given as REDIS_SERVER_BIN.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { librariesIn, unpackPackages } from './debian.mjs';

const CACHE = join(process.cwd(), 'node_modules', '.cache', 'newer-servers');
const KEYS = '[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]';
const SOURCES = '/etc/apt';

/** The same mirror that the system uses, for the next release. */
function newerRelease() {
  const mirror = mirrorOfTheSystem();
  return {
    sources: [
      `deb ${KEYS} ${mirror} trixie main`,
      `deb ${KEYS} ${mirror} trixie-updates main`,
      `deb ${KEYS} ${mirror}-security trixie-security main`,
    ],
  };
}

function mirrorOfTheSystem() {
  const folder = join(SOURCES, 'sources.list.d');
  const files = existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
  for (const file of [join(SOURCES, 'sources.list'), ...files]) {
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    const mirror = /^[^#\n]*?(https?:\/\/\S+\/debian)\/?(?=\s)/m.exec(text)?.[1];
    if (mirror) return mirror;
  }
  throw new Error('No mirror of Debian is set up in /etc/apt: newer servers cannot be fetched.');
}

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
  const root = unpackPackages(
    join(CACHE, name),
    [`${name}-server`, `${name}-tools`],
    newerRelease(),
  );
  const libraries = librariesIn(root);
  const loader = readdirSync(libraries).find((file) => file.startsWith('ld-linux')) ?? '';
  const command = [
    join(libraries, loader),
    ...['--library-path', libraries, join(root, 'usr/bin', `${name}-server`)],
  ];
  const quoted = command.map((word) => `'${word}'`).join(' ');
  writeFileSync(script, `#!/bin/sh\nexec ${quoted} "$@"\n`, { mode: 0o755 });
}
