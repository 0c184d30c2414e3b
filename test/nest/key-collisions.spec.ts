import { describe, expect, it } from '@jest/globals';
import { normalizeAddress } from '../../lib/core/keys/address.js';
import { resolveKey } from '../../lib/core/keys/key-resolver.js';
import { KeyResolvers } from '../../lib/core/keys/key-resolvers.js';
import { PrincipalKeyResolver } from '../../lib/core/keys/principal-key-resolver.js';

describe('keys', () => {
  it('tell the user "email:x" from the user whose e-mail is "x"', () => {
    const resolvers = new KeyResolvers();
    const byId = resolveKey(resolvers.from('principal'), { user: { id: 'email:ann@x.y' } });
    const byEmail = resolveKey(resolvers.from('principal:email'), { user: { email: 'ann@x.y' } });
    expect(byId).not.toBe(byEmail);
  });

  it('are one for every notation of the same IPv6 address', () => {
    expect(normalizeAddress('::1.2.3.4')).toBe(normalizeAddress('::102:304'));
  });

  it('are found in a user that is a bigint, as in one that is a number', () => {
    expect(resolveKey(new PrincipalKeyResolver(), { user: 42n })).toBe('principal:42');
  });

  it('are found in the next property when the first has no text', () => {
    expect(resolveKey(new PrincipalKeyResolver(), { user: { id: ' ', sub: 's1' } })).toBe(
      'principal:s1',
    );
  });
});
