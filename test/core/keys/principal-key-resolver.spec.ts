import { describe, expect, it } from '@jest/globals';
import { resolveKey } from '../../../lib/core/keys/key-resolver.js';
import { PrincipalKeyResolver } from '../../../lib/core/keys/principal-key-resolver.js';

describe('the resolver of principals', () => {
  const resolver = new PrincipalKeyResolver();

  it('is known once the guards have run', () => {
    expect(resolver.phase).toBe('interceptor');
  });

  it.each([
    ['id', { id: 'u1', sub: 's1', name: 'n1' }, 'u1'],
    ['sub', { sub: 's1', name: 'n1' }, 's1'],
    ['name', { name: 'n1' }, 'n1'],
    ['sub when id is empty', { id: '', sub: 's1' }, 's1'],
    ['sub when id is null', { id: null, sub: 's1' }, 's1'],
    ['id when it is 0', { id: 0, sub: 's1' }, '0'],
  ])('counts by %s', (_, user, found) => {
    expect(resolveKey(resolver, { user })).toBe(`principal:${found}`);
  });

  it.each([
    ['text', 'ann', 'ann'],
    ['a number', 42, '42'],
    ['zero', 0, '0'],
  ])('counts by a user that is %s', (_, user, found) => {
    expect(resolveKey(resolver, { user })).toBe(`principal:${found}`);
  });

  it.each([
    undefined,
    null,
    '',
    '  ',
    {},
    { role: 'admin' },
    { id: '' },
    { id: {} },
    true,
    Number.NaN,
  ])('finds nothing in %j', (user) => {
    expect(resolveKey(resolver, { user })).toBeUndefined();
  });

  it('finds nothing in a request without a user', () => {
    expect(resolveKey(resolver, {})).toBeUndefined();
  });

  it('counts by the property of your choice', () => {
    const byEmail = new PrincipalKeyResolver('email');
    const user = { id: 'u1', email: 'ann@example.com' };
    expect(resolveKey(byEmail, { user })).toContain('ann@example.com');
    expect(resolveKey(byEmail, { user })).not.toBe(resolveKey(resolver, { user }));
    expect(resolveKey(byEmail, { user: { id: 'u1' } })).toBeUndefined();
  });
});
