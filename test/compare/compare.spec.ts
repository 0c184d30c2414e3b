import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { installPeers } from '../bench/peers/peer.mjs';
import { findRedisServer } from '../redis/binary.mjs';

/** Why the packages cannot be looked at here, if so. */
function obstacle(): string | undefined {
  if (!findRedisServer().isNative) return 'needs a native Redis server';
  try {
    installPeers();
    return undefined;
  } catch {
    return 'needs the packages, which cannot be installed here';
  }
}

const reason = obstacle();
const isCi = !['', '0', 'false'].includes(process.env['CI'] ?? '');

// Skipped where it cannot be seen, with the reason in its name; in CI it fails.
(reason && !isCi ? describe.skip : describe)(
  `the comparison${reason ? ` (${reason})` : ''}`,
  () => {
    it('in the README is what the packages themselves do', () => {
      const { status, stderr } = spawnSync(
        process.execPath,
        ['--disable-warning=ExperimentalWarning', join('test', 'compare', 'run.mjs')],
        { encoding: 'utf8' },
      );
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    }, 180_000);
  },
);
