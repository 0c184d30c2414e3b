import { createHash } from 'node:crypto';
import { InvalidKeyError } from './errors.js';

/** Longer keys are kept as their hash, so that nobody fills the memory with one request. */
const MAX_KEY_LENGTH = 200;
const HASHED = 'sha256:';
const SPACE = 0x20;
const DELETE = 0x7f;

/** Checks a key and bounds its length. An empty key is refused: it would be shared by strangers. */
export function limitKey(key: string): string {
  if (typeof key !== 'string' || isBlank(key)) throw new InvalidKeyError(key);
  // A key that is written like a hash is hashed too, or it would be the key it is a hash of.
  const hashed = key.length > MAX_KEY_LENGTH || key.startsWith(HASHED);
  return hashed ? HASHED + hashOf(key) : key;
}

/** Most keys start with a letter or a digit, and need no second look. */
function isBlank(key: string): boolean {
  return !(key.charCodeAt(0) > SPACE && key.charCodeAt(0) < DELETE) && key.trim().length === 0;
}

/** Hashed as it is in memory: as UTF-8, all lone surrogates would be one and the same. */
function hashOf(text: string): string {
  return createHash('sha256').update(Buffer.from(text, 'utf16le')).digest('base64url');
}
