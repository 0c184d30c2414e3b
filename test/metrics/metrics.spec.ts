import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { parseText } from '../support/sources.mjs';
import { exportsOf, measure, measureFile, spreadOf } from './measure.mjs';
import { targetsOf } from './targets.mjs';

const folders: string[] = [];

afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));

function projectWith(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'floodgate-metrics-'));
  folders.push(root);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

describe('metrics of a file', () => {
  it('counts the lines of a function from { to } without blanks and comments', () => {
    const source = `
      function long(): string {
        // why

        /* and
           why */
        return \`one

        three\`; // here
      }
      const short = () => { return 1; };
      const none = () => 1;
      class Door { constructor() {} get open() { return true; } knock(): void; }
    `;
    expect(measureFile(parseText('lib/a.ts', source)).functions).toEqual([5, 1, 1, 1]);
  });

  it('counts casts, and no `as const`', () => {
    const source = 'a as string; b as const; c as unknown as number; <string>d;';
    expect(measureFile(parseText('lib/a.ts', source)).casts).toBe(3);
  });

  it('counts the names that an index exports', () => {
    const index = parseText(
      'lib/index.ts',
      "export { a, type B } from './a.js'; export type { C };",
    );
    expect(exportsOf(index)).toBe(3);
    const star = parseText('lib/index.ts', "export * from './a.js';");
    expect(() => exportsOf(star)).toThrow(
      "lib/index.ts exports without names: export * from './a.js'",
    );
  });

  it('takes medians and ninetieths by rank', () => {
    expect(spreadOf([10, 1, 9, 2, 8, 3, 7, 4, 6, 5])).toEqual({ median: 5, p90: 9, max: 10 });
    expect(spreadOf([])).toEqual({ median: 0, p90: 0, max: 0 });
  });
});

describe('metrics of a project', () => {
  it('groups by folder, finds circles, and leaves out what is generated', () => {
    const root = projectWith({
      'lib/index.ts': "export { a } from './core/a.js';\n",
      'lib/core/a.ts': "import { b } from './deep/b.js';\nexport const a = b;\n",
      'lib/core/deep/b.ts': "import type { C } from '../c.js';\nexport const b = 1;\n",
      'lib/core/c.ts': "export type C = import('./a.js').A;\n",
      'lib/core/alone.ts': "import { readFileSync } from 'node:fs';\n",
      'lib/core/made.ts': '// Made from x by `npm run y`; change that.\n' + 'a;\n'.repeat(300),
    });
    const metrics = measure(root);
    expect(metrics.rows.map(({ folder, files, lines }) => [folder, files, lines])).toEqual([
      ['lib/core', 4, 6],
      ['lib', 1, 1],
    ]);
    expect(metrics.cycles).toEqual([['lib/core/a.ts', 'lib/core/c.ts', 'lib/core/deep/b.ts']]);
    expect(metrics.generated).toEqual(['lib/core/made.ts']);
    expect(metrics.exports).toBe(1);
  });

  it('marks what misses a target', () => {
    const casts = 'a as string;\n'.repeat(41);
    const names = Array.from({ length: 81 }, (_, i) => `n${i}`).join(', ');
    const crowd = Array.from({ length: 26 }, (_, i) => [`lib/nest/file-${i}.ts`, casts] as const);
    const root = projectWith({
      'lib/index.ts': `export { ${names} } from './nest/file-0.js';\n`,
      'lib/core/long.ts': `function f() {\n${'a;\n'.repeat(249)}}\n`,
      ...Object.fromEntries(crowd),
    });
    const missed = targetsOf(measure(root)).filter(({ isMet }) => !isMet);
    expect(missed.map(({ what, value, found }) => [what, value, found])).toEqual([
      ['files over 250 lines', 1, ['lib/core/long.ts (251)']],
      ['folders with more than 25 files', 1, ['lib/nest (26)']],
      ['p90 of lines per function', 251, []],
      ['exports of lib/index.ts', 81, []],
      ['as casts in lib/nest', 26 * 41, []],
    ]);
  });

  it('looks at this one', () => {
    const { total, rows } = measure(process.cwd());
    expect(rows.map(({ folder }) => folder)).toEqual(
      expect.arrayContaining(['lib/core', 'lib/memory', 'lib/redis', 'lib/nest']),
    );
    expect(total.files).toBeGreaterThan(200);
    expect(total.perFunction.max).toBeGreaterThan(10);
  });
});
