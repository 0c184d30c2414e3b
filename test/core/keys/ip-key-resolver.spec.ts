import { describe, expect, it } from '@jest/globals';
import { IpKeyResolver } from '../../../lib/core/keys/ip-key-resolver.js';
import { resolveKey } from '../../../lib/core/keys/key-resolver.js';

describe('the resolver of addresses', () => {
  const resolver = new IpKeyResolver();

  it('is known on arrival', () => {
    expect(resolver.phase).toBe('guard');
  });

  it('counts by the address that the platform tells', () => {
    const request = { ip: '203.0.113.7', socket: { remoteAddress: '10.0.0.1' } };
    expect(resolveKey(resolver, request)).toBe('ip:203.0.113.7');
  });

  it('counts IPv6 clients by their network', () => {
    expect(resolveKey(resolver, { ip: '2001:db8::1' })).toBe('ip:2001:db8::/64');
    expect(resolveKey(new IpKeyResolver(56), { ip: '2001:db8:0:12ff::1' })).toBe(
      'ip:2001:db8:0:1200::/56',
    );
  });

  it.each(['not-an-ip', '', 'a'.repeat(2_000), undefined])(
    'takes the socket when the platform tells no address: %j',
    (ip) => {
      const request = { ip, socket: { remoteAddress: '::ffff:10.0.0.1' } };
      expect(resolveKey(resolver, request)).toBe('ip:10.0.0.1');
    },
  );

  it.each([
    {},
    { ip: 'not-an-ip' },
    { ip: 'not-an-ip', socket: null },
    { ip: 'not-an-ip', socket: {} },
    { socket: { remoteAddress: '/var/run/app.sock' } },
  ])('finds nothing where there is no address: %j', (request) => {
    expect(resolveKey(resolver, request)).toBeUndefined();
  });

  it('believes no forwarding header', () => {
    const headers = {
      'x-forwarded-for': '6.6.6.6',
      forwarded: 'for=6.6.6.6',
      'x-real-ip': '6.6.6.6',
    };
    expect(resolveKey(resolver, { ip: '10.0.0.1', headers })).toBe('ip:10.0.0.1');
    expect(resolveKey(resolver, { headers })).toBeUndefined();
  });

  it('answers the same after it has seen more addresses than it remembers', () => {
    const fresh = new IpKeyResolver();
    const ask = (ip: string) => resolveKey(fresh, { ip });
    const before = ask('2001:db8::1');
    for (let i = 0; i < 10_001; i++) void ask(`10.1.${i >> 8}.${i & 255}`);
    expect(ask('2001:db8::1')).toBe(before);
    expect(ask('10.1.0.7')).toBe('ip:10.1.0.7');
  });
});
