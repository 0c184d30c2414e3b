import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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

// Below the packages, where the compiler finds them.
const FOLDER = join('test', 'bench', 'peers', 'node_modules', '.migration');

/** What the difference in the README begins with. */
function before(): string {
  const [, difference] = /```diff\n(.*?)```/s.exec(readFileSync('README.md', 'utf8'))!;
  return difference!.replaceAll(/^\+.*\n/gm, '').replaceAll(/^[- ]/gm, '');
}

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

    it('is with code that compiles: what the README moves from', () => {
      mkdirSync(FOLDER, { recursive: true });
      writeFileSync(join(FOLDER, 'before.ts'), before());
      const config = {
        extends: join(process.cwd(), 'test', 'tsconfig.json'),
        files: ['before.ts'],
      };
      const options = { rootDir: '.', skipLibCheck: true };
      const text = JSON.stringify({ ...config, include: [], compilerOptions: options });
      writeFileSync(join(FOLDER, 'tsconfig.json'), text);
      const tsc = join('node_modules', 'typescript', 'bin', 'tsc');
      const { stdout } = spawnSync(process.execPath, [tsc, '-p', FOLDER], { encoding: 'utf8' });
      rmSync(FOLDER, { recursive: true });
      expect(stdout).toBe('');
    }, 60_000);
  },
);
