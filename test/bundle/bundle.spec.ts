import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { describeWithServers } from '../support/describe-with-servers.js';
import type { Farm } from '../support/redis-servers.js';
import { createFarm } from '../support/redis-servers.js';

const BUNDLE = join(import.meta.dirname, 'bundle.mjs');

const run = promisify(execFile);

describeWithServers('native server', 'an application that is bundled into one file', () => {
  let farm: Farm;
  let folder: string;
  let url: string;

  // A server of its own, which knows no script yet.
  beforeEach(async () => {
    farm = createFarm();
    folder = mkdtempSync(join(tmpdir(), 'floodgate-bundle-'));
    ({ url } = await farm.single());
  });

  afterEach(async () => {
    await farm.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function keys(): Promise<string[]> {
    const client = new Redis(url);
    const found = await client.keys('*');
    await client.quit();
    return found.sort();
  }

  it.each(['esm', 'cjs'] as const)(
    'decides by Redis, far from any package: %s',
    async (format) => {
      const file = format === 'esm' ? 'app.mjs' : 'app.cjs';
      const bundling = await run(process.execPath, [BUNDLE, format, join(folder, file)]);
      expect(JSON.parse(bundling.stdout)).toEqual([]);
      expect(readdirSync(folder)).toEqual([file]);
      const env = { TEST_REDIS_URL: url };
      const { stdout, stderr } = await run(process.execPath, [file], { cwd: folder, env });
      expect(stderr).toBe('');
      expect(JSON.parse(stdout)).toEqual({
        reason: 'ALLOWED',
        remainingTokens: 3,
        statuses: [200, 200, 429],
      });
      expect(await keys()).toEqual([
        'rate_limiter:2/minute:{ip:127.0.0.1}',
        'rate_limiter:gold:{ada}',
      ]);
    },
    60_000,
  );
});
