// @ts-check
// npm run test:unit: the specs that start no server and no other process, and so need no Redis.
// What a spec imports decides (groups.mjs), and no-servers.mjs refuses what got past that.
import { join } from 'node:path';
import base from '../../jest.config.js';
import { unitSpecs } from './groups.mjs';

const ROOT = join(import.meta.dirname, '..', '..');
export default {
  ...base,
  rootDir: ROOT,
  globalSetup: undefined,
  globalTeardown: undefined,
  testMatch: unitSpecs(ROOT).map((spec) => `<rootDir>/${spec}`),
  setupFiles: ['<rootDir>/test/unit/no-servers.mjs'],
};
