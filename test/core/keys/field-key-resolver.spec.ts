import { createHash, createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { InvalidOptionError } from '../../../lib/core/errors.js';
import type { FieldPlace } from '../../../lib/core/keys/field-key-resolver.js';
import { FieldKeyResolver } from '../../../lib/core/keys/field-key-resolver.js';
import { resolveKey } from '../../../lib/core/keys/key-resolver.js';

const EMAIL = 'ada@example.com';

const email = new FieldKeyResolver('body', 'email');
const anyCase = new FieldKeyResolver('body', 'email:lower');

const keyOf = (value: unknown, resolver = email) =>
  resolveKey(resolver, { body: { email: value } }) as string | undefined;

const keyIn = (body: unknown, field = 'email') =>
  resolveKey(new FieldKeyResolver('body', field), { body });

/** Lists around a value. */
function nested(value: unknown, depth: number): unknown {
  let list = value;
  for (let i = 0; i < depth; i++) list = [list];
  return list;
}

describe('the resolver of fields', () => {
  it('is known on arrival, and tells what it reads', () => {
    for (const place of ['body', 'query', 'param'] as const) {
      const { phase, reads } = new FieldKeyResolver(place, 'id');
      expect([phase, reads]).toEqual(['guard', [place]]);
    }
  });

  it.each<[FieldPlace, object]>([
    ['body', { body: { id: 'a' } }],
    ['query', { query: { id: 'a' } }],
    ['param', { params: { id: 'a' } }],
  ])('reads the %s alone', (place, request) => {
    const resolver = new FieldKeyResolver(place, 'id');
    const others = { body: { id: 'b' }, query: { id: 'b' }, params: { id: 'b' } };
    expect(resolveKey(resolver, request)).toMatch(/^[a-z]+:id:[\w-]{22}$/);
    expect(resolveKey(resolver, { ...others, ...request })).toBe(resolveKey(resolver, request));
  });

  it('counts by the hash of the value', () => {
    const bytes = Buffer.from(EMAIL, 'utf16le');
    const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
    expect(keyOf(EMAIL)).toBe(`body:email:${hash}`);
    const keyed = createHmac('sha256', 'pepper').update(bytes).digest('base64url').slice(0, 22);
    expect(keyOf(EMAIL, new FieldKeyResolver('body', 'email', 'pepper'))).toBe(
      `body:email:${keyed}`,
    );
  });

  it('tells values apart, and fields, and places', () => {
    const sources = { body: { a: 'x', b: 'x' }, query: { a: 'x' }, params: { a: 'x' } };
    const resolvers = [
      new FieldKeyResolver('body', 'a'),
      new FieldKeyResolver('body', 'b'),
      new FieldKeyResolver('body', 'a:lower'),
      new FieldKeyResolver('query', 'a'),
      new FieldKeyResolver('param', 'a'),
    ];
    const keys = resolvers.map((resolver) => resolveKey(resolver, sources));
    expect(new Set([...keys, keyOf('x'), keyOf('X'), keyOf(' x')]).size).toBe(8);
    expect(keyOf('a\ud800')).not.toBe(keyOf('a\ud801'));
  });

  it('takes a number for its text', () => {
    expect(keyOf(42)).toBe(keyOf('42'));
    expect(keyOf(0)).toBe(keyOf('0'));
    expect(keyOf(-0)).toBe(keyOf('0'));
    expect(keyOf(42n)).toBe(keyOf('42'));
  });

  it('takes a list of one for what is in it, however deep', () => {
    expect(keyOf([EMAIL])).toBe(keyOf(EMAIL));
    expect(keyOf(nested(EMAIL, 5_000))).toBe(keyOf(EMAIL));
    expect(keyOf([[' ADA@example.com']], anyCase)).toBe(keyOf(EMAIL, anyCase));
  });

  const endless: unknown[] = [];
  endless.push(endless);

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['empty text', ''],
    ['spaces', ' \t\r\n\u00a0\ufeff'],
    ['true', true],
    ['false', false],
    ['not a number', Number.NaN],
    ['infinity', Number.POSITIVE_INFINITY],
    ['no values', []],
    ['several values', ['a', 'b']],
    ['the same value twice', ['a', 'a']],
    ['a list of nothing', [null]],
    ['a list of an object', [{ $gt: '' }]],
    ['a list that contains itself', endless],
    ['an object', { $gt: '' }],
    ['an object that writes itself', { toString: () => 'ada' }],
    ['an object with text for a method', { toString: 'ada', valueOf: 'ada' }],
    ['bytes', Buffer.from('ada')],
    ['a function', () => 'ada'],
    ['a symbol', Symbol('ada')],
  ])('finds nobody in %s', (_, value) => {
    expect(keyOf(value)).toBeUndefined();
    expect(keyOf(value, anyCase)).toBeUndefined();
  });

  it.each([
    ['no body', undefined],
    ['null', null],
    ['text', EMAIL],
    ['a number', 7],
    ['bytes', Buffer.from(JSON.stringify({ email: EMAIL }))],
    ['a list', [{ email: EMAIL }]],
    ['a list with a field', Object.assign([], { email: EMAIL })],
    ['an empty object', {}],
    ['an object of no class', Object.create(null)],
    ['what is inherited', Object.create({ email: EMAIL })],
    ['a prototype that was sent', JSON.parse(`{"__proto__":{"email":"${EMAIL}"}}`)],
  ])('finds nobody where the body is %s', (_, body) => {
    expect(keyIn(body)).toBeUndefined();
  });

  it.each(['constructor', '__proto__', 'toString', 'length', 'constructor.name', '0'])(
    'finds nobody by the field %j, which every object has',
    (field) => {
      for (const body of [{}, [], ['a'], 'text', Buffer.from('text')]) {
        if (Buffer.isBuffer(body) && field === '0') continue;
        expect(keyIn(body, field)).toBeUndefined();
      }
    },
  );

  it('reads an object of no class, as queries are', () => {
    const body = Object.assign(Object.create(null) as object, { email: EMAIL });
    expect(keyIn(body)).toBe(keyOf(EMAIL));
  });

  it('reads fields of fields', () => {
    const found = keyIn({ user: { email: EMAIL } }, 'user.email');
    expect(found).toMatch(/^body:user\.email:[\w-]{22}$/);
    expect(keyIn({ 'user.email': EMAIL }, 'user.email')).toBeUndefined();
    expect(keyIn({ user: EMAIL }, 'user.email')).toBeUndefined();
    expect(keyIn({ user: [{ email: EMAIL }] }, 'user.email')).toBeUndefined();
    expect(keyIn({ user: null }, 'user.email')).toBeUndefined();
    expect(keyIn({}, 'user.constructor.name')).toBeUndefined();
  });

  it('reads names of any characters, which do not get into the key as they are', () => {
    const key = keyIn({ 'user[{e}]': EMAIL }, 'user[{e}]');
    expect(key).toMatch(/^body:user%5B%7Be%7D%5D:[\w-]{22}$/);
  });

  it('makes keys of one length from values of any', () => {
    expect(keyOf('a'.repeat(1_000_000))).toHaveLength(keyOf('a')!.length);
  });

  it.each([
    '',
    ' ',
    'e mail',
    '.',
    'a.',
    '.a',
    'a..b',
    ':lower',
    'email:',
    'email:upper',
    'a:b:lower',
  ])('refuses the field %j and says what to write', (field) => {
    expect(() => new FieldKeyResolver('body', field)).toThrow(
      new InvalidOptionError(
        'key',
        'a field, such as "body:email", "body:user.email" or "body:email:lower"',
        `body:${field}`,
      ),
    );
  });
});

describe('a field whose case is ignored', () => {
  it.each([
    ['capitals', 'ADA@Example.COM'],
    ['spaces around it', ' ada@example.com\t\r\n'],
    ['other spaces around it', '\u00a0\u3000ada@example.com\ufeff'],
    ['wide letters', '\uff41\uff44\uff41\uff20example.com'],
    ['wide capitals', '\uff21\uff24\uff21@example.com'],
  ])('is one account with %s', (_, written) => {
    expect(keyOf(written, anyCase)).toBe(keyOf(EMAIL, anyCase));
  });

  it('is one account however its accents are composed', () => {
    expect(keyOf('Jose\u0301', anyCase)).toBe(keyOf('jos\u00e9', anyCase));
    expect(keyOf('\u212aelvin', anyCase)).toBe(keyOf('kelvin', anyCase));
  });

  it('tells accounts apart', () => {
    const names = ['ada', 'a da', 'adá', 'bob', 'ada.', 'a\u200bda'];
    expect(new Set(names.map((name) => keyOf(name, anyCase))).size).toBe(names.length);
  });

  it('finds nobody in text that is too long to be a name', () => {
    expect(keyOf('a'.repeat(512), anyCase)).toBeDefined();
    expect(keyOf(` ${'a'.repeat(512)} `, anyCase)).toBeDefined();
    expect(keyOf('a'.repeat(513), anyCase)).toBeUndefined();
  });

  it('takes no time for text that is made to be normalized slowly', () => {
    const marks = (length: number) =>
      'a' + '\u0345'.repeat(length / 2) + '\u0334'.repeat(length / 2);
    const began = performance.now();
    expect(keyOf(marks(1_000_000), anyCase)).toBeUndefined();
    expect(keyOf(marks(500), anyCase)).toBeDefined();
    // Normalizing a tenth of it takes over 5 s.
    expect(performance.now() - began).toBeLessThan(500);
  });
});
