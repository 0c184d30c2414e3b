import { describe, expect, it } from '@jest/globals';
import { IpKeyResolver } from '../../../lib/core/keys/ip-key-resolver.js';
import type { KeyValue } from '../../../lib/core/keys/key-resolver.js';
import { resolveKey } from '../../../lib/core/keys/key-resolver.js';
import { PrincipalKeyResolver } from '../../../lib/core/keys/principal-key-resolver.js';

/** An id as MongoDB has them. */
class ObjectId {
  constructor(readonly hex: string) {}

  toString(): string {
    return this.hex;
  }
}

function keyFor(value: unknown, prefix = 'tenant') {
  return resolveKey({ prefix, phase: 'guard', resolve: () => value as KeyValue }, {});
}

describe('a key', () => {
  it.each([
    ['text', 'acme', 'acme'],
    ['text with colons', 'a:b', 'a:b'],
    ['a number', 42, '42'],
    ['zero', 0, '0'],
    ['a negative number', -1, '-1'],
    ['a bigint', 12_345_678_901_234_567_890n, '12345678901234567890'],
    ['an id that writes itself', new ObjectId('65f0c0ffee'), '65f0c0ffee'],
    ['a URL', new URL('https://acme.example/'), 'https://acme.example/'],
  ])('is made from %s', (_, value, text) => {
    expect(keyFor(value)).toBe(`tenant:${text}`);
  });

  it.each([
    ['undefined', undefined],
    ['null', null],
    ['empty text', ''],
    ['spaces', '   '],
    ['a line break', '\r\n'],
    ['not a number', Number.NaN],
    ['a plain object', { id: 1 }],
    ['an object of no class', Object.create(null)],
    ['a list', ['a', 'b']],
    ['a map', new Map([['id', 1]])],
    ['true', true],
    ['false', false],
    ['a symbol', Symbol('id')],
    ['a function', () => 'id'],
    ['an id that writes nothing', new ObjectId('')],
  ])('is not made from %s', (_, value) => {
    expect(keyFor(value)).toBeUndefined();
  });

  it('may be promised', async () => {
    expect(await keyFor(Promise.resolve('acme'))).toBe('tenant:acme');
    expect(await keyFor(Promise.resolve({ id: 1 }))).toBeUndefined();
    expect(await keyFor(Promise.resolve(undefined))).toBeUndefined();
  });

  it('may be promised by any kind of promise', async () => {
    const foreign = { then: (resolve: (value: string) => void) => resolve('acme') };
    expect(await keyFor(foreign)).toBe('tenant:acme');
  });

  it('fails when the promise fails', async () => {
    await expect(keyFor(Promise.reject(new Error('database away')))).rejects.toThrow(
      'database away',
    );
  });

  it('is handed over at once where no promise was made', () => {
    expect(keyFor('acme')).not.toBeInstanceOf(Promise);
  });

  it('is what was found, when the resolver returns whole keys', () => {
    expect(keyFor('all', '')).toBe('all');
  });

  it('keeps a user apart from an address of the same text', () => {
    const request = { ip: '1.2.3.4', user: { id: '1.2.3.4' } };
    expect(resolveKey(new IpKeyResolver(), request)).toBe('ip:1.2.3.4');
    expect(resolveKey(new PrincipalKeyResolver(), request)).toBe('principal:1.2.3.4');
  });

  it('keeps users apart whatever their ids are made of', () => {
    const ids = ['undefined', 'null', 'NaN', '[object Object]', '0', 'a:b', 'a', 'b'];
    const keys = ids.map((id) => resolveKey(new PrincipalKeyResolver(), { user: { id } }));
    expect(new Set(keys).size).toBe(ids.length);
  });
});
