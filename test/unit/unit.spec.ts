import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { filesIn, parseFile } from '../support/sources.mjs';
import { reasonsBySpec, unitSpecs } from './groups.mjs';

const folders: string[] = [];

afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));

/** The verdict about one spec that stands among these files. */
function reasonFor(spec: string, files: Record<string, string> = {}): string | undefined {
  const root = mkdtempSync(join(tmpdir(), 'floodgate-unit-'));
  folders.push(root);
  for (const [path, text] of Object.entries({ ...files, 'test/a.spec.ts': spec })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return reasonsBySpec(root).get('test/a.spec.ts');
}

describe('the groups of specs', () => {
  it('put every spec in one of two', () => {
    const reasons = reasonsBySpec(process.cwd());
    const unit = unitSpecs(process.cwd());
    const others = [...reasons].filter(([, reason]) => reason).map(([spec]) => spec);
    expect([...unit, ...others].sort()).toEqual(filesIn(process.cwd(), 'test', /\.spec\.ts$/));
    expect(unit.length).toBeGreaterThan(60);
    expect(others.length).toBeGreaterThan(60);
  });

  it('count all of core as unit specs, and none that asks Redis', () => {
    const reasons = reasonsBySpec(process.cwd());
    const core = [...reasons].filter(([spec]) => spec.startsWith('test/core/'));
    expect(core.filter(([, reason]) => reason)).toEqual([]);
    expect(reasons.get('test/redis/redis-store.spec.ts')).toMatch(/redis-servers|TEST_REDIS/);
    const unit = unitSpecs(process.cwd());
    const asking = unit.filter((spec) =>
      /sharedRedis|TEST_REDIS_|createServer\(/.test(parseFile(process.cwd(), spec).text),
    );
    expect(asking.filter((spec) => !spec.startsWith('test/unit/'))).toEqual([]);
  });

  it.each([
    [
      'starts a process',
      "import { fork } from 'node:child_process';",
      'imports node:child_process',
    ],
    ['starts a thread', "await import('node:worker_threads');", 'imports node:worker_threads'],
    ['listens', 'createServer().listen(0);', 'calls listen()'],
    ['asks Redis', "process.env['TEST_REDIS_URL'];", 'reads TEST_REDIS_URL'],
    ['compiles', "import ts from 'typescript';", 'imports typescript'],
  ])('see one that %s', (_, text, reason) => {
    expect(reasonFor(text)).toBe(reason);
  });

  it('see what a spec starts through another file', () => {
    const files = {
      'test/support/app.ts': "export * from './deep.mjs';",
      'test/support/deep.mjs': "import './app.js';\nserver.listen(0);",
    };
    expect(reasonFor("import { app } from './support/app.js';", files)).toBe(
      'test/support/deep.mjs: calls listen()',
    );
  });

  it('overlook types and what lib could do', () => {
    const files = {
      'test/support/app.ts': 'server.listen(0);',
      'lib/index.ts': "import 'node:child_process';",
    };
    const spec = `import type { App } from './support/app.js';
      import { type App as Same } from './support/app.js';
      import { RateLimiter } from '../lib/index.js';`;
    expect(reasonFor(spec, files)).toBeUndefined();
  });
});

describe('a unit spec', () => {
  it('cannot start what nobody saw it import', async () => {
    const { refusals } = await import('./refusals.mjs');
    expect(await refusals()).toEqual({
      server: expect.stringContaining('A unit spec starts a server'),
      process: expect.stringContaining('A unit spec starts a process'),
    });
  });
});
