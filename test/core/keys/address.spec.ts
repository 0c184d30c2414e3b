import { describe, expect, it } from '@jest/globals';
import { normalizeAddress } from '../../../lib/core/keys/address.js';

describe('an IPv4 address', () => {
  it.each([
    ['as it is', '203.0.113.7'],
    ['with a port', '203.0.113.7:5555'],
    ['in brackets', '[203.0.113.7]'],
    ['mapped, dotted', '::ffff:203.0.113.7'],
    ['mapped, in hexadecimal', '::ffff:cb00:7107'],
    ['mapped, in capitals', '::FFFF:CB00:7107'],
    ['mapped, without a gap', '0:0:0:0:0:ffff:203.0.113.7'],
    ['mapped, with every digit', '0000:0000:0000:0000:0000:ffff:cb00:7107'],
    ['mapped, with a short gap', '0::ffff:cb00:7107'],
    ['mapped, in brackets with a port', '[::ffff:203.0.113.7]:443'],
    ['mapped, with a zone', '::ffff:203.0.113.7%eth0'],
    ['through NAT64, dotted', '64:ff9b::203.0.113.7'],
    ['through NAT64, in hexadecimal', '64:FF9B::cb00:7107'],
  ])('is the same client written %s', (_, written) => {
    expect(normalizeAddress(written)).toBe('203.0.113.7');
  });

  it.each([32, 56, 64, 128])('stays whole when IPv6 is masked to /%i', (bits) => {
    expect(normalizeAddress('::ffff:203.0.113.7', bits)).toBe('203.0.113.7');
    expect(normalizeAddress('64:ff9b::203.0.113.8', bits)).toBe('203.0.113.8');
  });

  it.each(['0.0.0.0', '255.255.255.255', '127.0.0.1'])('is kept at the edge: %s', (address) => {
    expect(normalizeAddress(address)).toBe(address);
    expect(normalizeAddress(`::ffff:${address}`)).toBe(address);
  });
});

describe('an IPv6 address', () => {
  it.each([
    '2001:db8:1:2::1',
    '2001:db8:1:2:ffff:ffff:ffff:ffff',
    '2001:0DB8:0001:0002:0000:0000:0000:0001',
    '2001:DB8:1:2::AbCd',
    '2001:db8:1:2::1%eth0',
    '[2001:db8:1:2::1]',
    '[2001:db8:1:2::1]:443',
    '[2001:db8:1:2::1%3]:443',
  ])('stands for its /64: %s', (address) => {
    expect(normalizeAddress(address)).toBe('2001:db8:1:2::/64');
  });

  it('is told from the networks beside it', () => {
    expect(normalizeAddress('2001:db8:1:1:ffff:ffff:ffff:ffff')).toBe('2001:db8:1:1::/64');
    expect(normalizeAddress('2001:db8:1:3::')).toBe('2001:db8:1:3::/64');
  });

  it.each([
    [32, '2001:db8::/32'],
    [33, '2001:db8:8000::/33'],
    [56, '2001:db8:8123:4500::/56'],
    [64, '2001:db8:8123:4567::/64'],
    [127, '2001:db8:8123:4567:89ab:cdef:123:4566/127'],
    [128, '2001:db8:8123:4567:89ab:cdef:123:4567'],
  ])('is masked to /%i', (bits, network) => {
    expect(normalizeAddress('2001:DB8:8123:4567:89ab:cdef:0123:4567', bits)).toBe(network);
  });

  it('is told from every other when nothing is masked', () => {
    expect(normalizeAddress('2001:db8::1', 128)).toBe('2001:db8::1');
    expect(normalizeAddress('2001:DB8:0::2', 128)).toBe('2001:db8::2');
  });

  it('is the same through every interface', () => {
    expect(normalizeAddress('fe80::1%eth0', 128)).toBe('fe80::1');
    expect(normalizeAddress('[fe80::1%wlan0]:443', 128)).toBe('fe80::1');
  });

  it.each([
    ['ends in dots', '2001:db8::1.2.3.4', '2001:db8::/64'],
    ['was meant for IPv4 once', '::102:304', '::/64'],
    ['has the marks of a mapped one elsewhere', '::ffff:0:1.2.3.4', '::/64'],
    ['is near NAT64', '64:ff9b:1::1.2.3.4', '64:ff9b:1::/64'],
    ['is the loopback', '::1', '::/64'],
  ])('is no IPv4 client when it %s', (_, address, network) => {
    expect(normalizeAddress(address)).toBe(network);
  });
});

describe('what is not an address', () => {
  it.each([
    '',
    ' ',
    'not-an-ip',
    'unknown',
    '1.2.3',
    '1.2.3.4.5',
    '1.2.3.256',
    '01.2.3.4',
    '1.2.3.4:',
    '1.2.3.4:http',
    ' 1.2.3.4',
    '1.2.3.4, 5.6.7.8',
    '0x7f000001',
    '2130706433',
    '2001:db8::1::2',
    '2001:db8::g',
    '12345::1',
    '::ffff:1.2.3',
    '::ffff:1.2.3.999',
    '[2001:db8::1',
    '2001:db8::1]',
    '[]',
    '[]:80',
    '%eth0',
    '2001:db8::/64',
    '127.0.0.1\r\nX: 1',
    'a'.repeat(2_000),
    ':'.repeat(2_000),
    '1'.repeat(2_000),
  ])('is nobody: %j', (garbage) => {
    expect(normalizeAddress(garbage)).toBeUndefined();
  });

  it('includes what is not there', () => {
    expect(normalizeAddress(undefined)).toBeUndefined();
  });
});
