import { describe, expect, it } from '@jest/globals';
import type { ResponseHeaders } from '../../lib/outbound/response-headers.js';
import { headerOf } from '../../lib/outbound/response-headers.js';

describe('a header of a response', () => {
  it.each<[string, ResponseHeaders]>([
    ['fetch', new Headers({ 'Retry-After': ' 5 ' })],
    ['Node', { 'retry-after': '5' }],
    ['a record in capitals', { 'RETRY-AFTER': '\t5 ' }],
    ['a number', { 'Retry-After': 5 }],
    ['a list of one', { 'retry-after': ['5'] }],
    ['anything with get', { get: (name: string) => (name === 'retry-after' ? 5 : null) }],
  ])('is read from %s', (_client, headers) => {
    expect(headerOf(headers, 'retry-after')).toBe('5');
    expect(headerOf(headers, 'server')).toBeUndefined();
  });

  it('of several lines is one list', () => {
    const headers = new Headers();
    headers.append('ratelimit', '"a";r=1');
    headers.append('ratelimit', '"b";r=2');
    expect(headerOf(headers, 'ratelimit')).toBe('"a";r=1, "b";r=2');
    expect(headerOf({ RateLimit: ['"a";r=1', '"b";r=2'] }, 'ratelimit')).toBe('"a";r=1, "b";r=2');
  });

  it('may be called "get"', () => {
    expect(headerOf({ get: 'x', Server: 'nginx' }, 'server')).toBe('nginx');
  });

  it.each([null, undefined, true, false])('that is %s is not there', (value) => {
    expect(headerOf({ server: value }, 'server')).toBeUndefined();
    expect(headerOf({ get: () => value }, 'server')).toBeUndefined();
  });

  it('is not inherited', () => {
    expect(headerOf(Object.create({ server: 'nginx' }) as ResponseHeaders, 'server')).toBe(
      undefined,
    );
  });
});
