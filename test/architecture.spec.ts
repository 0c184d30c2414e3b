import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

interface Violation {
  readonly rule: { readonly name: string };
  readonly from: string;
  readonly to: string;
}

interface Cruise {
  readonly modules: readonly { readonly source: string; readonly dependencies: unknown[] }[];
  readonly summary: { readonly violations: readonly Violation[] };
}

function cruise(...folders: string[]): Cruise {
  const cruiser = 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs';
  const flags = ['--config', '.dependency-cruiser.cjs', '--output-type', 'json'];
  const report = execFileSync(process.execPath, [cruiser, ...folders, ...flags], {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  return JSON.parse(report) as Cruise;
}

describe('the house', () => {
  const { modules, summary } = cruise('lib', 'sample');

  it('keeps the direction of imports and has no cycles', () => {
    const broken = summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`);
    expect(broken).toEqual([]);
  });

  it('was really looked at, room by room', () => {
    const sources = modules.map(({ source }) => source);
    const rooms = readdirSync('lib', { withFileTypes: true }).filter((one) => one.isDirectory());
    expect(rooms.length).toBeGreaterThanOrEqual(3);
    for (const { name } of rooms) {
      expect(sources.filter((source) => source.startsWith(`lib/${name}/`))).not.toEqual([]);
    }
    expect(sources).toContain('lib/index.ts');
    expect(sources.some((source) => source.startsWith('sample/'))).toBe(true);
    const links = modules.flatMap(({ dependencies }) => dependencies);
    expect(links.length).toBeGreaterThan(100);
  });
});
