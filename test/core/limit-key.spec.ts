import { describe, expect, it } from '@jest/globals';
import { InvalidKeyError } from '../../lib/core/errors.js';
import { limitKey } from '../../lib/core/limit-key.js';

describe('a key', () => {
  it.each(['a', 'user 1', ' a ', '__proto__', 'a:b', '{a}', '\0', '😀', '\ud800', 'a'.repeat(200)])(
    'stays as it is: %j',
    (key) => {
      expect(limitKey(key)).toBe(key);
    },
  );

  it.each([
    ['', '""'],
    ['  ', '"  "'],
    ['\t\r\n', '"\\t\\r\\n"'],
    ['\u00a0\ufeff', '"\u00a0\ufeff"'],
    [null, 'null'],
    [undefined, 'undefined'],
    [42, '42'],
    [Number.NaN, 'NaN'],
    [{ id: 1 }, '{"id":1}'],
    [['a'], '["a"]'],
    [true, 'true'],
  ])('is refused when it names nobody: %p', (key, shown) => {
    const check = () => limitKey(key as string);
    expect(check).toThrow(InvalidKeyError);
    expect(check).toThrow(
      `Expected the key to be a string that names whom to count, got ${shown}. ` +
        'An empty key would be one bucket shared by strangers.',
    );
  });

  it('is shortened when it is long', () => {
    expect(limitKey('a'.repeat(201)).length).toBeLessThanOrEqual(200);
    expect(limitKey('a'.repeat(1_000_000)).length).toBeLessThanOrEqual(200);
  });

  it('is shortened always to the same, and never to that of another', () => {
    const megabyte = 'a'.repeat(1_000_000);
    const others = [`${megabyte}a`, `b${megabyte}`, `${megabyte.slice(1)}b`, 'a'.repeat(201)];
    expect(limitKey(megabyte)).toBe(limitKey('a'.repeat(1_000_000)));
    expect(new Set([megabyte, ...others].map(limitKey)).size).toBe(5);
  });

  it('is told from the long key whose shortened form it is written like', () => {
    const shortened = limitKey('a'.repeat(1_000));
    expect(limitKey(shortened)).not.toBe(shortened);
    expect(limitKey(limitKey(shortened))).not.toBe(limitKey(shortened));
  });

  it('is told from another of which only half a character differs', () => {
    const tail = 'a'.repeat(300);
    const keys = ['\ud800', '\udbff', '\udc00', '\ufffd'].map((half) => limitKey(half + tail));
    expect(new Set(keys).size).toBe(4);
  });
});
