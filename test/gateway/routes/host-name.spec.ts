import { describe, expect, it } from '@jest/globals';
import { normalizeHost } from '../../../lib/gateway/routes/host-name.js';

describe('a host', () => {
  it.each([
    ['a.com', 'a.com'],
    ['A.cOm', 'a.com'],
    ['a.com.', 'a.com'],
    ['a.com:8080', 'a.com'],
    ['a.com.:8080', 'a.com'],
    ['a.com:', 'a.com'],
    ['localhost', 'localhost'],
    ['my_service.internal', 'my_service.internal'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['BÜCHER.example', 'xn--bcher-kva.example'],
    ['bücher.example.:80', 'xn--bcher-kva.example'],
    ['a%2Ecom', 'a.com'],
    ['127.0.0.1:80', '127.0.0.1'],
    ['127.1', '127.0.0.1'],
    ['0x7f.0.0.1', '127.0.0.1'],
    ['[::1]', '[::1]'],
    ['[0:0:0:0:0:0:0:1]:443', '[::1]'],
    [`${'a'.repeat(63)}.${'b'.repeat(189)}`, `${'a'.repeat(63)}.${'b'.repeat(189)}`],
  ])('%s is %s', (written, normal) => {
    expect(normalizeHost(written)).toBe(normal);
  });

  it.each([
    '',
    '.',
    ':80',
    'a..com',
    '.a.com',
    'a.com..',
    'a b.com',
    'a.com:port',
    'a.com:999999',
    'user@a.com',
    'user:secret@a.com',
    'a.com/path',
    'a.com\\path',
    'a.com?x',
    'a.com#x',
    '::1',
    '[::1',
    '1.2.3.256',
    '*',
    '*.a.com',
    'a\tb.com',
    'a'.repeat(254),
    'a.'.repeat(100_000),
  ])('is not %j', (written) => {
    expect(normalizeHost(written)).toBeUndefined();
  });
});
