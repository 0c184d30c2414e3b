// @ts-check
// Finds a Chromium to look at pages with: CHROMIUM_BIN, then the PATH, then the packages of the
// distribution, unpacked under node_modules/.cache without root and without touching the system.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { unpackPackages } from '../redis/debian.mjs';
import { firstOnPath } from '../redis/path.mjs';

/**
 * How to run a browser.
 *
 * @typedef {{ executablePath: string, env: Record<string, string>, from: string }} Browser
 */

const CACHE = join(process.cwd(), 'node_modules', '.cache', 'chromium');
const NAMES = ['chromium', 'chromium-browser', 'chromium-headless-shell', 'google-chrome'];
const PACKAGES = ['chromium-headless-shell', 'chromium-common', 'fonts-dejavu-core'];

/**
 * The browser, or why there is none.
 *
 * @returns {{ browser: Browser } | { reason: string }}
 */
export function findChromium() {
  /** @type {string[]} */
  const reasons = [];
  for (const source of [fromVariable, fromPath, fromDebian]) {
    try {
      const browser = source();
      if (browser) return { browser: checked(browser) };
    } catch (error) {
      reasons.push(error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error));
    }
  }
  return { reason: reasons.join('; ') || 'no Chromium on the PATH, and no apt-get to fetch one' };
}

function fromVariable() {
  const executablePath = process.env['CHROMIUM_BIN'];
  return executablePath ? { executablePath, env: {}, from: 'CHROMIUM_BIN' } : undefined;
}

function fromPath() {
  const executablePath = firstOnPath(...NAMES);
  return executablePath ? { executablePath, env: {}, from: 'PATH' } : undefined;
}

function fromDebian() {
  if (!firstOnPath('apt-get') || !firstOnPath('dpkg')) return undefined;
  const root = unpackPackages(CACHE, PACKAGES, { allLibraries: true });
  return {
    executablePath: join(root, 'usr/lib/chromium/chromium-headless-shell'),
    env: { LD_LIBRARY_PATH: librariesBelow(root), FONTCONFIG_FILE: fontsBelow(root) },
    from: 'Debian packages',
  };
}

/**
 * One that does not even tell its version is none.
 *
 * @param {Browser} browser
 */
function checked(browser) {
  const { executablePath, env, from } = browser;
  const asked = spawnSync(executablePath, ['--version', '--no-sandbox'], {
    env: { ...process.env, ...env },
    encoding: 'utf8',
  });
  if (asked.status === 0) return browser;
  const said = (asked.stderr ?? '').trim().split('\n')[0] || String(asked.error ?? asked.status);
  throw new Error(`${executablePath} (${from}) does not run: ${said}`);
}

/**
 * The folders that hold libraries: some packages keep theirs in folders of their own.
 *
 * @param {string} root
 */
function librariesBelow(root) {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' });
  const libraries = files.filter((file) =>
    /(?:^|\/)lib\/[^/]+-linux-gnu\/.*\.so[.\d]*$/.test(file),
  );
  return [...new Set(libraries.map((file) => join(root, dirname(file))))].join(':');
}

/**
 * A machine without a screen has no fonts.
 *
 * @param {string} root
 */
function fontsBelow(root) {
  const [file, cache] = [join(root, 'fonts.conf'), join(root, 'font-cache')];
  mkdirSync(cache, { recursive: true });
  const folders = [join(root, 'usr/share/fonts'), '/usr/share/fonts'];
  const dirs = folders.map((folder) => `<dir>${folder}</dir>`).join('');
  writeFileSync(file, `<fontconfig>${dirs}<cachedir>${cache}</cachedir></fontconfig>\n`);
  return file;
}
