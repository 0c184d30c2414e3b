import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

interface Embedding {
  readonly embedded: string;
  readonly assemble: (script: string, read?: (path: string) => string) => string;
}

const EMBED: string = '../../lua/embed.mjs';
const { embedded, assemble } = (await import(EMBED)) as Embedding;

/** Reads from these files instead of lua/. */
const from = (files: Record<string, string>) => (path: string) => files[path]!;

it('ships the scripts as they are in lua/', () => {
  expect(readFileSync('lib/redis/lua.ts', 'utf8')).toBe(embedded);
});

describe('a part', () => {
  it('stands where a script asks for it, indented, without its head comment', () => {
    const files = {
      './script.lua': 'local function f()\n  -- @part one\n  return x\nend\n',
      './parts/one.lua': '--[[\n  Gives x.\n]]\nlocal x = 1\n\nx = x + 1\n',
    };
    expect(assemble('script', from(files))).toBe(
      'local function f()\n  local x = 1\n\n  x = x + 1\n  return x\nend\n',
    );
  });

  it('stands once in a script, above the parts that ask for it', () => {
    const files = {
      './script.lua': '-- @part one\n-- @part two\n',
      './parts/one.lua': '--[[ One. ]]\n-- @part two\nlocal one = two\n',
      './parts/two.lua': '--[[ Two. ]]\nlocal two = 2\n',
    };
    expect(assemble('script', from(files))).toBe('local two = 2\nlocal one = two\n');
  });

  it('is refused inside a second function, where it would be missing', () => {
    const files = {
      './script.lua': 'do\n  -- @part one\nend\ndo\n  -- @part one\nend\n',
      './parts/one.lua': '--[[ One. ]]\nlocal one = 1\n',
    };
    expect(() => assemble('script', from(files))).toThrow('asks for the part "one" twice');
  });

  it('is refused without a head comment', () => {
    const files = { './script.lua': '-- @part one\n', './parts/one.lua': 'local one = 1\n' };
    expect(() => assemble('script', from(files))).toThrow('parts/one.lua has no head comment');
  });

  it.each(readdirSync('lua/parts'))('%s is used', (file) => {
    const askedFor = `-- @part ${file.replace('.lua', '')}\n`;
    expect(sources().some((text) => text.includes(askedFor))).toBe(true);
  });
});

function sources(): string[] {
  const files = readdirSync('lua', { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.lua'))
    .map((file) => readFileSync(`lua/${file}`, 'utf8'));
}
