// @ts-check
// For one mutant: on the servers that run.mjs has started for all of them, nearest specs first.
import { join } from 'node:path';
import base from '../../jest.config.js';

export default {
  ...base,
  rootDir: join(import.meta.dirname, '..', '..'),
  globalSetup: undefined,
  globalTeardown: undefined,
  reporters: ['<rootDir>/test/mutants/reporter.mjs'],
  testSequencer: '<rootDir>/test/mutants/sequencer.mjs',
};
