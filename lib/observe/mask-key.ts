import { createHmac, randomBytes } from 'node:crypto';

/** Another one in every process, so that nobody can try out which key a tag belongs to. */
const salt = randomBytes(16);

/** Shorter keys show less, so that most of a key is hidden always. */
const LONG = 10;
const SHORT = 6;
const TAG_LENGTH = 4;
const UNPRINTABLE = /[\p{C}\p{Z}]/gu;

/**
 * A key as it may be shown: its ends, if it is long enough, and a tag that tells keys with the same
 * ends apart. `principal:ada-42` becomes `pr…42 #1f0c`.
 */
export function maskKey(key: string): string {
  const characters = [...key];
  const shown = characters.length >= LONG ? 2 : characters.length >= SHORT ? 1 : 0;
  const start = characters.slice(0, shown).join('');
  const end = shown === 2 ? characters.slice(-shown).join('') : '';
  return `${start}…${end}`.replaceAll(UNPRINTABLE, '·') + ` #${tagOf(key)}`;
}

function tagOf(key: string): string {
  const tag = createHmac('sha256', salt).update(Buffer.from(key, 'utf16le')).digest('hex');
  return tag.slice(0, TAG_LENGTH);
}
