import { createHash, createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { InvalidOptionError } from '../../../lib/core/errors.js';
import { HeaderKeyResolver } from '../../../lib/core/keys/header-key-resolver.js';
import { resolveKey } from '../../../lib/core/keys/key-resolver.js';

const SECRET = 'sk-live-0123456789';

function keyOf(resolver: HeaderKeyResolver, value: string | string[] | undefined): unknown {
  return resolveKey(resolver, { headers: { 'x-api-key': value } });
}

describe('the resolver of headers', () => {
  const resolver = new HeaderKeyResolver('X-Api-Key');

  it('is known on arrival', () => {
    expect(resolver.phase).toBe('guard');
  });

  it('counts by the hash of the value', () => {
    const hash = createHash('sha256').update(SECRET).digest('base64url').slice(0, 22);
    expect(keyOf(resolver, SECRET)).toBe(`header:x-api-key:${hash}`);
  });

  it('shows nothing of the value', () => {
    for (const value of [SECRET, 'a', 'key', '12']) {
      const hash = String(keyOf(resolver, value)).slice('header:x-api-key:'.length);
      expect(hash).toMatch(/^[\w-]{22}$/);
      expect(Buffer.from(hash, 'base64url').toString('latin1')).not.toContain(SECRET);
      expect(hash).not.toBe(value);
    }
  });

  it('keys the hash with the secret', () => {
    const keyed = new HeaderKeyResolver('x-api-key', 'pepper');
    const hash = createHmac('sha256', 'pepper').update(SECRET).digest('base64url').slice(0, 22);
    expect(keyOf(keyed, SECRET)).toBe(`header:x-api-key:${hash}`);
    expect(keyOf(keyed, SECRET)).not.toBe(keyOf(resolver, SECRET));
    expect(keyOf(new HeaderKeyResolver('x-api-key', 'salt'), SECRET)).not.toBe(
      keyOf(keyed, SECRET),
    );
  });

  it('tells values apart, and headers', () => {
    const other = new HeaderKeyResolver('x-tenant');
    expect(keyOf(resolver, 'a')).not.toBe(keyOf(resolver, 'b'));
    expect(keyOf(resolver, 'a')).not.toBe(keyOf(resolver, 'A'));
    expect(resolveKey(other, { headers: { 'x-tenant': 'a' } })).not.toBe(keyOf(resolver, 'a'));
  });

  it('reads its header by any case of the name', () => {
    expect(keyOf(new HeaderKeyResolver('X-API-KEY'), 'a')).toBe(keyOf(resolver, 'a'));
  });

  it('takes a header that was sent twice as one value', () => {
    expect(keyOf(resolver, ['a', 'b'])).toBe(keyOf(resolver, 'a, b'));
  });

  it.each([undefined, '', ' ', '\t'])('finds nothing in %j', (value) => {
    expect(keyOf(resolver, value)).toBeUndefined();
    expect(keyOf(resolver, value === undefined ? [] : [value])).toBeUndefined();
  });

  it('finds nothing where there are no headers', () => {
    expect(resolveKey(resolver, {})).toBeUndefined();
    expect(resolveKey(resolver, { headers: {} })).toBeUndefined();
  });

  it('makes keys of one length from values of any', () => {
    const long = keyOf(resolver, 'a'.repeat(1_000_000));
    expect(String(long)).toHaveLength(String(keyOf(resolver, 'a')).length);
  });

  it.each(['', 'x api key', 'x:y', 'ключ', 'x\r\ny'])('refuses the name %j', (name) => {
    expect(() => new HeaderKeyResolver(name)).toThrow(
      new InvalidOptionError('key', 'the name of a header, such as "header:x-api-key"', name),
    );
  });
});
