import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { RateLimitError } from '../../lib/core/errors.js';
import { InvalidDomainError, normalizeDomain } from '../../lib/outbound/domain-name.js';
import { workMs } from '../support/work-ms.js';

const label = (length: number) => 'a'.repeat(length);
/** 253 characters: the longest name that DNS knows. */
const LONGEST = `${label(63)}.${label(63)}.${label(63)}.${label(61)}`;

function messageOf(domain: unknown): string {
  try {
    normalizeDomain(domain as string);
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidDomainError);
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ code: 'INVALID_DOMAIN', name: 'InvalidDomainError' });
    return (error as Error).message;
  }
  return 'nothing was thrown';
}

describe('a domain', () => {
  it.each([
    ['javdb.com', 'javdb.com'],
    ['localhost', 'localhost'],
    ['av-wiki.net', 'av-wiki.net'],
    ['_dmarc.example.com', '_dmarc.example.com'],
    ['r3---sn-4g5e.example.com', 'r3---sn-4g5e.example.com'],
    ['API.Example.com', 'api.example.com'],
    ['example.com.', 'example.com'],
    ['example.com:8443', 'example.com'],
    ['localhost:3000', 'localhost'],
    ['example.com.:8443', 'example.com'],
    ['  example.com\n', 'example.com'],
    ['example.com/path?query=1#part', 'example.com'],
    ['example.com?mail=a@b.c', 'example.com'],
    ['//cdn.example.com/x', 'cdn.example.com'],
    ['https://API.Example.com:8443/path', 'api.example.com'],
    ['HTTPS://user:password@Example.com/a@b?c=@d', 'example.com'],
    ['https://us@er:pass@example.com', 'example.com'],
    ['https://example.com?@evil.test', 'example.com'],
    ['https://example.com\\@evil.test', 'example.com'],
    ['redis+sentinel://Host.Example:6379/0', 'host.example'],
    [LONGEST, LONGEST],
    [`${LONGEST}.:65535`, LONGEST],
    [`https://${LONGEST}/${label(5000)}`, LONGEST],
  ])('%j is %j', (text, name) => {
    expect(normalizeDomain(text)).toBe(name);
  });

  it.each([
    ['bücher.example', 'xn--bcher-kva.example'],
    ['BÜCHER.example', 'xn--bcher-kva.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['https://例え.テスト/パス', 'xn--r8jz45g.xn--zckzah'],
    ['例え。テスト', 'xn--r8jz45g.xn--zckzah'],
    ['ｅｘａｍｐｌｅ.com', 'example.com'],
    ['%65xample.com', 'example.com'],
  ])('in any script: %j is %j', (text, name) => {
    expect(normalizeDomain(text)).toBe(name);
  });

  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['192.0.2.1:80', '192.0.2.1'],
    ['http://192.0.2.1/', '192.0.2.1'],
    ['127.1', '127.0.0.1'],
    ['0x7f.1', '127.0.0.1'],
    ['2130706433', '127.0.0.1'],
    ['::1', '::1'],
    ['[::1]', '::1'],
    ['[::1]:8080', '::1'],
    ['2001:DB8:0:0::1', '2001:db8::1'],
    ['https://[2001:DB8::1]:8443/path', '2001:db8::1'],
    ['::ffff:192.0.2.1', '::ffff:c000:201'],
  ])('that is an address: %j is %j', (text, name) => {
    expect(normalizeDomain(text)).toBe(name);
  });

  it('is the host to which a request would go', () => {
    fc.assert(
      fc.property(fc.webUrl({ validSchemes: ['http', 'https'] }), (url) => {
        expect(normalizeDomain(url)).toBe(new URL(url).hostname);
      }),
    );
  });

  it('has one name, which is its own name again, whatever is written', () => {
    const alphabet = fc.constantFrom(
      ...'abxn-_.0127:[]/@ ü。\tA%é*'.split(''),
      'xn--',
      '://',
      '.com',
    );
    const texts = fc.array(alphabet, { maxLength: 12 }).map((parts) => parts.join(''));
    let accepted = 0;
    fc.assert(
      fc.property(fc.oneof(texts, fc.string(), fc.domain()), (text) => {
        let name: string;
        try {
          name = normalizeDomain(text);
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidDomainError);
          return;
        }
        accepted++;
        expect(name).toMatch(/^[a-z\d_.:-]{1,253}$/);
        expect(normalizeDomain(name)).toBe(name);
        // The short way through and the long one agree.
        expect(normalizeDomain(` ${name}`)).toBe(name);
      }),
      { numRuns: 3000 },
    );
    expect(accepted).toBeGreaterThan(500);
  });
});

describe('what names no host is refused', () => {
  it.each([
    ['', '""'],
    ['   ', '"   "'],
    ['\t\n', '"\\t\\n"'],
    ['.', '"."'],
    ['..', '".."'],
    ['/path', '"..."'],
    ['//', '"..."'],
    ['https://', '"https://"'],
    ['https:///path', '"https://..."'],
    ['file:///etc/passwd', '"file://..."'],
    ['https:example.com', '"https..."'],
    ['about:blank', '"about..."'],
    ['exam ple.com', '"exam ple.com"'],
    ['exam\tple.com', '"exam\\tple.com"'],
    ['https://exam\nple.com', '"https://exam\\nple.com"'],
    ['a..b', '"a..b"'],
    ['.example.com', '".example.com"'],
    ['example.com..', '"example.com.."'],
    ['*.example.com', '"*.example.com"'],
    ['a,b', '"a,b"'],
    ['xn--a', '"xn--a"'],
    ['exa%00mple.com', '"exa%00mple.com"'],
    ['exa%2565mple.com', '"exa%2565mple.com"'],
    ['256.1.1.1', '"256.1.1.1"'],
    ['example.1', '"example.1"'],
    ['[::1', '"[::1"'],
    ['[example.com]', '"[e..."'],
    ['fe80::1%eth0', '"fe80..."'],
    ['example.com:port', '"example.com..."'],
    ['example.com:65536', '"example.com..."'],
    [`a${LONGEST}`, `"${label(64)}.${label(51)}...`],
    [`a${LONGEST.toUpperCase()}`, `"a${label(63).toUpperCase()}.${label(51).toUpperCase()}...`],
    [`ü${label(57)}.`.repeat(4), `"${`ü${label(57)}.`.repeat(2).slice(0, 116)}...`],
  ])('%j', (text, quoted) => {
    expect(messageOf(text)).toBe(
      `Expected a domain that names a host, got ${quoted}. Write the name alone, such as ` +
        '"api.example.com", or an address: at most 253 characters.',
    );
  });

  it.each([
    [undefined, 'a value of type undefined'],
    [null, 'null'],
    [7, 'a value of type number'],
    [['example.com'], 'a value of type object'],
    [new URL('https://user:secret@example.com'), 'a value of type object'],
  ])('%p', (value, described) => {
    expect(messageOf(value)).toContain(`, got ${described}. Write`);
  });

  it.each([
    'https://user:secret@exam ple.com/',
    'https://user:sec/secret@exam ple.com/',
    'user:secret@example.com',
    'secret@example.com',
    'https://user:secret',
    'https://exam ple.com/hooks/secret',
    'https://exam ple.com?token=secret',
    'https://exam ple.com#secret',
    'https://exam ple.com\\secret',
    '/hooks/secret',
    '?token=secret',
    'https://exam ple.com/?mail=a@secret',
  ])('without telling the secret of %j', (text) => {
    expect(messageOf(text)).toMatch(/^Expected a domain that names a host/);
    expect(messageOf(text)).not.toContain('sec');
  });

  it('in no time, however long it is', () => {
    const hostile = [label(1e6), 'a.'.repeat(1e6), 'ü'.repeat(1e6), `//${'@'.repeat(1e6)} `];
    const costMs = workMs(() => {
      for (const text of hostile) expect(messageOf(text)).toMatch(/^Expected/);
    });
    expect(costMs).toBeLessThan(2_000);
  });
});
