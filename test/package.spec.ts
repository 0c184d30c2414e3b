import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>;
}

const README = readFileSync('README.md', 'utf8');
const MANIFEST = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest;

/** The text under a heading of the README. */
function section(heading: string): string {
  const [, text] = README.split(`\n## ${heading}\n`);
  return text!.split('\n## ')[0]!;
}

describe('the package', () => {
  it('has the runtime dependencies that the README justifies, and no others', () => {
    const rows = section('Size and dependencies').matchAll(/^\| `([^`]+)` +\| (\S.*?) +\|$/gm);
    const justified = [...rows].map(([, name]) => name);
    expect(justified.sort()).toEqual(Object.keys(MANIFEST.dependencies).sort());
  });

  it('has the optional peers that the README names', () => {
    const text = section('Size and dependencies');
    const unnamed = Object.keys(MANIFEST.peerDependenciesMeta).filter(
      (name) => !text.includes(`\`${name}\``),
    );
    expect(unnamed).toEqual([]);
  });

  it('is tried under Jest with the very line that users are told', () => {
    const [, shown] = /```json\n(.*?)```/s.exec(readFileSync('lib/testing/README.md', 'utf8'))!;
    const tried = readFileSync('test/compat/nest-11-cjs/test/jest-e2e.json', 'utf8');
    expect(JSON.parse(tried)).toMatchObject(JSON.parse(shown!) as object);
  });
});
