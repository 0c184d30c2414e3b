import { describe, expect, it } from '@jest/globals';
import { FirstOfKeyResolver } from '../../../lib/core/keys/first-of-key-resolver.js';
import { HeaderKeyResolver } from '../../../lib/core/keys/header-key-resolver.js';
import { IpKeyResolver } from '../../../lib/core/keys/ip-key-resolver.js';
import type { KeyResolver, KeyValue } from '../../../lib/core/keys/key-resolver.js';
import { resolveKey } from '../../../lib/core/keys/key-resolver.js';
import { PrincipalKeyResolver } from '../../../lib/core/keys/principal-key-resolver.js';

const ip = new IpKeyResolver();
const principal = new PrincipalKeyResolver();
const header = new HeaderKeyResolver('x-api-key');
const later = (value: KeyValue): KeyResolver => ({
  prefix: 'later',
  phase: 'guard',
  resolve: () => Promise.resolve(value),
});

describe('the first of several resolvers', () => {
  it('is known when the last of them is', () => {
    expect(new FirstOfKeyResolver([header, ip]).phase).toBe('guard');
    expect(new FirstOfKeyResolver([ip, principal]).phase).toBe('interceptor');
    expect(new FirstOfKeyResolver([]).phase).toBe('guard');
  });

  it('takes the first answer, under the name of whoever gave it', () => {
    const resolver = new FirstOfKeyResolver([principal, ip]);
    expect(resolveKey(resolver, { user: { id: 7 }, ip: '10.0.0.1' })).toBe('principal:7');
    expect(resolveKey(resolver, { ip: '10.0.0.1' })).toBe('ip:10.0.0.1');
  });

  it('does not ask those behind the first answer', () => {
    const asked: string[] = [];
    const asking = (name: string, value: KeyValue): KeyResolver => ({
      prefix: name,
      phase: 'guard',
      resolve: () => {
        asked.push(name);
        return value;
      },
    });
    const resolver = new FirstOfKeyResolver([asking('a', ' '), asking('b', 1), asking('c', 2)]);
    expect(resolveKey(resolver, {})).toBe('b:1');
    expect(asked).toEqual(['a', 'b']);
  });

  it('waits for those that answer later', async () => {
    const request = { ip: '10.0.0.1' };
    const found = new FirstOfKeyResolver([later(null), later('x'), ip]);
    const missed = new FirstOfKeyResolver([later(undefined), later(''), ip]);
    expect(await resolveKey(found, request)).toBe('later:x');
    expect(await resolveKey(missed, request)).toBe('ip:10.0.0.1');
  });

  it('finds nothing when none of them does', async () => {
    expect(resolveKey(new FirstOfKeyResolver([]), {})).toBeUndefined();
    expect(resolveKey(new FirstOfKeyResolver([principal, ip]), {})).toBeUndefined();
    expect(await resolveKey(new FirstOfKeyResolver([later(null), ip]), {})).toBeUndefined();
  });

  it('hands the context on', () => {
    const fromContext: KeyResolver = {
      prefix: 'context',
      phase: 'guard',
      resolve: (_, context) => context as string,
    };
    expect(resolveKey(new FirstOfKeyResolver([ip, fromContext]), {}, 'here')).toBe('context:here');
  });
});
