import { describe, expect, it } from '@jest/globals';
import { parseRate } from '../../lib/core/rate.js';

describe('a rate', () => {
  it.each([
    ['100/minute', 100, 60_000],
    ['5/10s', 5, 10_000],
    ['1000 / 2 hours', 1_000, 7_200_000],
    ['1/ms', 1, 1],
    ['7/250ms', 7, 250],
    ['3/s', 3, 1_000],
    ['3/sec', 3, 1_000],
    ['3/secs', 3, 1_000],
    ['3/second', 3, 1_000],
    ['3/30 seconds', 3, 30_000],
    ['3/m', 3, 60_000],
    ['3/min', 3, 60_000],
    ['3/5mins', 3, 300_000],
    ['3/minutes', 3, 60_000],
    ['3/h', 3, 3_600_000],
    ['3/2hours', 3, 7_200_000],
    ['3/hour', 3, 3_600_000],
    ['3/24h', 3, 86_400_000],
    ['3/d', 3, 86_400_000],
    ['3/day', 3, 86_400_000],
    ['3/7days', 3, 604_800_000],
    ['  5 /  10  S ', 5, 10_000],
    ['5/MINUTE', 5, 60_000],
    ['0/s', 0, 1_000],
    ['-1/day', -1, 86_400_000],
    ['005/010s', 5, 10_000],
    ['999999999999999/s', 999_999_999_999_999, 1_000],
  ])('%j is %d tokens in %d ms', (text, tokens, periodMs) => {
    expect(parseRate(text)).toEqual({ tokens, periodMs });
  });

  it.each([
    '',
    'gold',
    'gold/minute',
    '/minute',
    '100',
    '100/',
    '100/0s',
    '100/00 minutes',
    '100/-1s',
    '100/1.5s',
    '1.5/s',
    '1e3/s',
    '0x10/s',
    '+5/s',
    'NaN/s',
    'Infinity/s',
    '100 per minute',
    '100/fortnight',
    '100/week',
    '100/ss',
    '100/mss',
    '100/hs',
    '100/ds',
    '100/constructor',
    '100/__proto__',
    '100/minute/2',
    '100//minute',
    '100/minute\n5',
    '1 00/minute',
    '1000000000000000/s',
    '5/1000000000s',
    '１/s',
  ])('%j is none', (text) => {
    expect(parseRate(text)).toBeUndefined();
  });

  it('is read in no time, however long the text', () => {
    expect(parseRate(`5/${' '.repeat(10_000)}!`)).toBeUndefined();
    expect(parseRate(`${'9'.repeat(10_000)}/s`)).toBeUndefined();
  });
});
