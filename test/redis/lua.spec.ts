import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';

const EMBED: string = '../../lua/embed.mjs';

it('ships the scripts as they are in lua/', async () => {
  const { embedded } = (await import(EMBED)) as { embedded: string };
  expect(readFileSync('lib/redis/lua.ts', 'utf8')).toBe(embedded);
});
