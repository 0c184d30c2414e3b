/** Native ESM: run as `node --experimental-vm-modules node_modules/jest/bin/jest.js` (npm test). */
export default {
  testEnvironment: 'node',
  // Jest leaves one core idle, which is half of a small machine.
  maxWorkers: '100%',
  testMatch: ['<rootDir>/test/**/*.spec.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    // The samples import the package by its name, as an application would.
    '^nestjs-floodgate$': '<rootDir>/lib/index.ts',
    '^nestjs-floodgate/(testing|dashboard)$': '<rootDir>/lib/$1/index.ts',
    '^nestjs-floodgate/(prometheus|opentelemetry|terminus)$': '<rootDir>/lib/observe/$1/index.ts',
  },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        swcrc: false,
        sourceMaps: 'inline',
        module: { type: 'es6' },
        jsc: {
          target: 'es2022',
          keepClassNames: true,
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
        },
      },
    ],
  },
  // Only ends what hangs, after `until` has said what it waits for: what has to be quick is asserted.
  testTimeout: 30_000,
  globalSetup: '<rootDir>/test/global-setup.mjs',
  globalTeardown: '<rootDir>/test/global-teardown.mjs',
  collectCoverageFrom: ['lib/**/*.ts'],
};
