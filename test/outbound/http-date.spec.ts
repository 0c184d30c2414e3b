import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseHttpDate } from '../../lib/outbound/http-date.js';

const NOW = Date.UTC(2026, 2, 3, 9, 0, 0);

describe('an HTTP date', () => {
  it.each([
    ['Sun, 06 Nov 1994 08:49:37 GMT', Date.UTC(1994, 10, 6, 8, 49, 37)],
    ['Sunday, 06-Nov-94 08:49:37 GMT', Date.UTC(1994, 10, 6, 8, 49, 37)],
    ['Sun Nov  6 08:49:37 1994', Date.UTC(1994, 10, 6, 8, 49, 37)],
    ['Sun Nov 16 08:49:37 1994', Date.UTC(1994, 10, 16, 8, 49, 37)],
    ['sun, 06 nov 1994 08:49:37 gmt', Date.UTC(1994, 10, 6, 8, 49, 37)],
    ['Mon, 06 Nov 1994 08:49:37 GMT', Date.UTC(1994, 10, 6, 8, 49, 37)],
    ['Thu, 29 Feb 2024 00:00:00 GMT', Date.UTC(2024, 1, 29)],
    ['Sat, 31 Dec 2016 23:59:60 GMT', Date.UTC(2017, 0, 1)],
    ['Tuesday, 03-Mar-76 09:00:00 GMT', Date.UTC(2076, 2, 3, 9)],
    ['Thursday, 03-Mar-77 09:00:00 GMT', Date.UTC(1977, 2, 3, 9)],
    ['Sat, 01 Jan 0050 00:00:00 GMT', Date.parse('0050-01-01T00:00:00Z')],
  ])('%s', (text, ms) => {
    expect(parseHttpDate(text, NOW)).toBe(ms);
  });

  it.each([
    '',
    'tomorrow',
    '2026-03-03T09:00:00Z',
    'Sun, 06 Nov 1994 08:49:37',
    'Sun, 06 Nov 1994 08:49:37 UTC',
    'Sun, 06 Nov 1994 08:49:37 +0100',
    'Sun, 6 Nov 1994 08:49:37 GMT',
    'Sun,  06 Nov 1994 08:49:37 GMT',
    'Sun, 06 Nov 94 08:49:37 GMT',
    'Sun, 06-Nov-94 08:49:37 GMT',
    'Sunday, 06 Nov 1994 08:49:37 GMT',
    'Sun Nov 6 08:49:37 1994',
    'Sun Nov    08:49:37 1994',
    'Non, 06 Nov 1994 08:49:37 GMT',
    'Sun, 06 Nox 1994 08:49:37 GMT',
    'Fri, 30 Feb 2024 08:49:37 GMT',
    'Wed, 29 Feb 2023 08:49:37 GMT',
    'Fri, 00 Nov 1994 08:49:37 GMT',
    'Sun, 32 Dec 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 24:00:00 GMT',
    'Sun, 06 Nov 1994 08:60:37 GMT',
    'Sun, 06 Nov 1994 08:49:61 GMT',
    ' Sun, 06 Nov 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 08:49:37 GMT ',
  ])('is not %j', (text) => {
    expect(parseHttpDate(text, NOW)).toBeUndefined();
  });

  it('is read as JavaScript writes it', () => {
    const seconds = fc.integer({ min: 0, max: 250_000_000_000 });
    fc.assert(
      fc.property(seconds, (second) => {
        const text = new Date(second * 1_000).toUTCString();
        expect(parseHttpDate(text, NOW)).toBe(second * 1_000);
      }),
    );
  });
});
