import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { parseText } from '../support/sources.mjs';
import { createCompiler } from './compiler.mjs';
import { mutantsOf, sampleMutants } from './mutants.mjs';
import { applyMutation, mutationsOf } from './mutations.mjs';
import { shuffled } from './random.mjs';
import { relatedSpecs } from './related.mjs';
import { createWorkers } from './workers.mjs';

/** What becomes of a text, by kind of mutation. */
function broken(text: string): string[] {
  return mutationsOf(parseText('lib/a.ts', text)).map(
    (mutation) => `${mutation.kind}: ${applyMutation(text, mutation)}`,
  );
}

describe('mutations', () => {
  it.each<[string, string[]]>([
    ['a < b;', ['operator <: a <= b;', 'operator <: a >= b;']],
    ['a >= b;', ['operator >=: a > b;', 'operator >=: a < b;']],
    ['a === b;', ['operator ===: a !== b;']],
    ['a && b;', ['operator &&: a || b;']],
    ['a + b;', ['operator +: a - b;']],
    ['a * b;', ['operator *: a / b;']],
    ['!a;', ['negation dropped: (a);']],
    ['x = 0;', ['assignment dropped: {}', 'constant: x = 1;']],
    ['x += y;', ['assignment dropped: {}', 'operator +=: x -= y;']],
    ['x++;', ['assignment dropped: {}']],
    ['delete x.y;', ['assignment dropped: {}']],
    ['await go();', ['call dropped: {}']],
    ['void go();', ['call dropped: {}']],
    [
      'const x = [1, 9, 50_000];',
      [
        'constant: const x = [0, 9, 50_000];',
        'constant: const x = [1, 10, 50_000];',
        'constant: const x = [1, 9, 100000];',
      ],
    ],
    ['const x = true;', ['constant: const x = false;']],
    ['x(Math.max(a, b));', ['call dropped: {}', 'call of max: x(Math.min(a, b));']],
    [
      'const x = a ? b : c;',
      [
        'condition: const x = false ? b : c;',
        'condition: const x = !(a) ? b : c;',
        'condition: const x = true ? b : c;',
      ],
    ],
    ['while (a) {}', ['condition: while (false) {}', 'condition: while (!(a)) {}']],
    [
      'if (a < b) {}',
      [
        'condition: if (false) {}',
        'condition: if (true) {}',
        'operator <: if (a <= b) {}',
        'operator <: if (a >= b) {}',
      ],
    ],
    [
      'const f = () => { go(); };',
      ['early return: const f = () => { return; go(); };', 'call dropped: const f = () => { {} };'],
    ],
    [
      'function f() { return x; }',
      [
        'early return: function f() { return; return x; }',
        'return dropped: function f() { void (x); }',
      ],
    ],
  ])('of %s', (text, expected) => {
    expect(broken(text)).toEqual(expected);
  });

  it('leave types, imports, decorators and texts alone', () => {
    const text = `
      import { a } from './a.js';
      export { a } from './a.js';
      type Two = 1 | 2 | true;
      interface Point { readonly size: 3; }
      enum Level { Low = 1 }
      const quiet = 'a text';
      class Door { @Inject(5) private readonly lock!: false; open(width?: 4): void; }`;
    expect(broken(text)).toEqual([]);
  });
});

describe('a sample of mutants', () => {
  it('is the same for the same seed', () => {
    const items = Array.from({ length: 50 }, (_, i) => i);
    expect(shuffled(items, 3)).toEqual(shuffled(items, 3));
    expect(shuffled(items, 3)).not.toEqual(shuffled(items, 4));
    expect([...shuffled(items, 3)].sort((a, b) => a - b)).toEqual(items);
  });
});

describe('in a small project', () => {
  const folders: string[] = [];

  afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

  const SUM = `import { spent } from './spent.js';
export function left(total: number): number {
  if (total < 0) return 0;
  return total - spent;
}
export const unseen = true;
`;
  const SPEC = `import { expect, it } from '@jest/globals';
import { left } from '../../lib/core/left.js';
it('subtracts', () => expect(left(5)).toBe(3));
it('stays at zero', () => expect(left(-1)).toBe(0));
`;

  function project(): string {
    const root = mkdtempSync(join(tmpdir(), 'floodgate-mutants-spec-'));
    folders.push(root);
    const own = [
      'test/mutants/jest.config.mjs',
      'test/mutants/sequencer.mjs',
      'test/mutants/reporter.mjs',
      'jest.config.js',
    ];
    const files = {
      'package.json': '{ "type": "module" }',
      'tsconfig.json':
        '{ "compilerOptions": { "module": "NodeNext", "target": "ES2023", "strict": true, "types": [] } }',
      '.gitignore': 'node_modules',
      'lib/core/left.ts': SUM,
      'lib/core/spent.ts': 'export const spent: number = 2;\n',
      'test/core/left.spec.ts': SPEC,
      'test/core/other.spec.ts': "import './nothing.js';",
      'test/core/nothing.ts': 'export {};\n',
      ...Object.fromEntries(own.map((path) => [path, readFileSync(path, 'utf8')])),
    };
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    symlinkSync(join(process.cwd(), 'node_modules'), join(root, 'node_modules'));
    execFileSync('git', ['init', '--quiet'], { cwd: root });
    return root;
  }

  it('only what compiles is a mutant', () => {
    const root = project();
    const complaint = createCompiler(root, ['lib/core/left.ts', 'lib/core/spent.ts']);
    expect(complaint('lib/core/left.ts', SUM)).toBeUndefined();
    expect(complaint('lib/core/left.ts', SUM.replace('return 0', 'return'))).toMatch(
      /not assignable/,
    );
    expect(complaint('lib/core/left.ts', SUM.replace('- spent', '+ spent'))).toBeUndefined();
    const all = mutantsOf(root, 'core').map(({ line, column, kind, now }) => [
      ...[line, column, kind, now],
    ]);
    expect(all).toContainEqual([2, 46, 'early return', 'return;']);
    const sample = sampleMutants(root, { rooms: ['core'], count: 99, seed: 1 });
    expect(sample.map(({ kind }) => kind)).not.toContain('early return');
    expect(sample.length).toBeGreaterThan(5);
  });

  it('finds the specs that import a file, also through others', () => {
    const root = project();
    const specsOf = relatedSpecs(root);
    expect(specsOf('lib/core/left.ts', 'core')).toEqual(['test/core/left.spec.ts']);
    expect(specsOf('lib/core/spent.ts', 'core')).toEqual(['test/core/left.spec.ts']);
    expect(specsOf('test/core/nothing.ts', 'core')).toEqual(['test/core/other.spec.ts']);
  });

  it('notices a mutant, or does not, or ends it, and leaves the working tree alone', async () => {
    const root = project();
    const workers = createWorkers(root, 1);
    const specs = ['test/core/left.spec.ts'];
    const noticedBy: Record<string, string | undefined> = {};
    const mutant = (was: string, now: string) => ({
      room: 'core',
      path: 'lib/core/left.ts',
      line: 1,
      column: 1,
      kind: '',
      was,
      now,
      text: SUM.replace(was, now),
    });
    try {
      const normalMs = await workers.baseline(specs);
      expect([...normalMs.keys()]).toEqual(specs);
      const tasks = [
        { mutant: mutant('- spent', '+ spent'), specs },
        { mutant: mutant('unseen = true', 'unseen = false'), specs },
        { mutant: mutant('return 0', 'for (;;) {}'), specs },
      ];
      await workers.tryAll(
        tasks,
        normalMs,
        ({ mutant: { now }, noticed }) => {
          noticedBy[now] = noticed && `${noticed.by}: ${noticed.test}`;
          expect(readFileSync(join(root, 'lib/core/left.ts'), 'utf8')).toBe(SUM);
        },
        1_500,
      );
    } finally {
      workers.close();
    }
    expect(noticedBy).toEqual({
      '+ spent': 'test/core/left.spec.ts: subtracts',
      'unseen = false': undefined,
      'for (;;) {}': 'timeout: did not end',
    });
    expect(workers.folders.filter((folder) => existsSync(folder))).toEqual([]);
  });
});
