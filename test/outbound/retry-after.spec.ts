import { describe, expect, it } from '@jest/globals';
import { parseRetryAfter } from '../../lib/outbound/retry-after.js';
import { readRecorded } from './recorded-response.js';

const NOW = Date.UTC(2026, 2, 3, 9, 21, 0);

describe('Retry-After', () => {
  it.each([
    ['1', 1_000],
    ['120', 120_000],
    [' 30\t', 30_000],
    ['007', 7_000],
    ['0.5', 500],
    ['1.1', 1_100],
    ['2.003', 2_003],
    ['2.007', 2_007],
    ['8.2', 8_200],
    ['1.0001', 1_001],
    ['0.001', 1],
    ['31536000', 31_536_000_000],
    ['Tue, 03 Mar 2026 09:21:30 GMT', 30_000],
    ['Tuesday, 03-Mar-26 09:21:30 GMT', 30_000],
    ['Tue Mar  3 09:21:30 2026', 30_000],
    ['Wed, 04 Mar 2026 09:21:00 GMT', 86_400_000],
  ])('%j asks to wait for %d ms', (value, waitMs) => {
    expect(parseRetryAfter(value, NOW)).toBe(waitMs);
  });

  it('rounds up when now is between two milliseconds', () => {
    expect(parseRetryAfter('Tue, 03 Mar 2026 09:21:30 GMT', NOW + 0.25)).toBe(30_000);
    expect(parseRetryAfter('Tue, 03 Mar 2026 09:21:30 GMT', NOW + 29_999.5)).toBe(1);
  });

  it.each([
    null,
    undefined,
    '',
    '  ',
    '0',
    '0.0',
    '000',
    '-1',
    '+1',
    '-0.5',
    'Tue, 03 Mar 2026 09:21:00 GMT',
    'Tue, 03 Mar 2026 09:20:59 GMT',
    'Sun, 06 Nov 1994 08:49:37 GMT',
    'Fri, 30 Feb 2029 08:49:37 GMT',
    'soon',
    'NaN',
    'Infinity',
    '1e3',
    '0x10',
    '1,5',
    '1.',
    '.5',
    '1.2.3',
    '5s',
    '5 5',
    '5, 5',
    '٣',
    '2026-03-03T09:21:30Z',
    '9'.repeat(17),
    '9'.repeat(40),
    `1${'0'.repeat(40)}`,
    '0.'.padEnd(41, '1'),
    '1'.repeat(1_000_000),
    ' '.repeat(1_000_000),
    `Tue, 03 Mar 2026 09:21:30 GMT${'x'.repeat(1_000_000)}`,
  ])('of case %# asks for nothing', (value) => {
    expect(parseRetryAfter(value, NOW)).toBeUndefined();
  });

  it('of a recorded response', () => {
    expect(parseRetryAfter(readRecorded('api-429').headers.get('retry-after'), NOW)).toBe(30_000);
  });
});
