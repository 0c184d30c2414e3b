/* eslint-disable jest/valid-title, jest/valid-describe-callback, jest/no-disabled-tests --
   names and suites are those of the specs that call this */
import { describe, it } from '@jest/globals';
import { findRedisServer } from '../redis/binary.mjs';
import { isCi } from './is-ci.js';

/** What a suite needs more than a server that answers. */
export type Servers = 'cluster' | 'sentinel' | 'native server';

/**
 * A suite that needs more than the server in WebAssembly can do. Where there is no other it is
 * skipped, with the reason in its name; in CI, where nobody would read that, it fails.
 */
export function describeWithServers(needed: Servers, name: string, suite: () => void): void {
  const { isNative, from } = findRedisServer();
  const reason = `needs a ${needed}, and there is only ${from}`;
  if (isNative) describe(name, suite);
  else if (isCi()) describe(name, () => void it(reason, () => fail(reason)));
  else describe.skip(`${name} (${reason})`, suite);
}

function fail(reason: string): never {
  throw new Error(`This suite ${reason}. Install redis-server or valkey-server.`);
}
