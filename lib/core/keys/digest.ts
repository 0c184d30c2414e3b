import { createHmac, hash } from 'node:crypto';

/** 22 characters of base64url are 132 bits: no two values meet. */
const DIGEST_LENGTH = 22;

/**
 * Stands for a value that may be a secret. With a `secret` the hash is keyed, so that values that
 * can be guessed stay hidden as well.
 */
export function digestOf(value: string | Buffer, secret: string | undefined): string {
  const digest =
    secret === undefined
      ? hash('sha256', value, 'base64url')
      : createHmac('sha256', secret).update(value).digest('base64url');
  return digest.slice(0, DIGEST_LENGTH);
}
