import { describe, expect, it } from '@jest/globals';
import type { ResponseHeaders } from '../../lib/outbound/response-headers.js';
import { upstreamLimitOf } from '../../lib/outbound/upstream-limit.js';
import { readRecorded } from './recorded-response.js';

const NOW = Date.UTC(2026, 2, 3, 9, 21, 0);
const NOW_SECONDS = NOW / 1_000;
const DAY_MS = 86_400_000;

function pair(remaining: string | number, reset: string | number, prefix = 'X-RateLimit') {
  return { [`${prefix}-Remaining`]: remaining, [`${prefix}-Reset`]: reset };
}

describe('the limit of an upstream', () => {
  it.each<[string, ResponseHeaders, { remaining: number; resetMs: number }]>([
    ['the draft', { RateLimit: '"a";r=5;t=10' }, { remaining: 5, resetMs: 10_000 }],
    ['fetch', new Headers({ ratelimit: '"a";r=5;t=10' }), { remaining: 5, resetMs: 10_000 }],
    [
      'several lines',
      { RateLimit: ['"a";r=5;t=10', '"b";r=4;t=10'] },
      { remaining: 4, resetMs: 10_000 },
    ],
    ['seconds from now', pair(7, 30), { remaining: 7, resetMs: 30_000 }],
    ['text', pair(' 7 ', '30'), { remaining: 7, resetMs: 30_000 }],
    ['fractions', pair('7', '0.25'), { remaining: 7, resetMs: 250 }],
    [
      'the largest number of seconds',
      pair(7, 366 * 86_400),
      { remaining: 7, resetMs: 366 * DAY_MS },
    ],
    ['a date', pair(0, NOW_SECONDS + 60), { remaining: 0, resetMs: 60_000 }],
    ['a date with fractions', pair(0, `${NOW_SECONDS}.123`), { remaining: 0, resetMs: 123 }],
    ['without X', pair(7, 30, 'RateLimit'), { remaining: 7, resetMs: 30_000 }],
  ])('by %s', (_what, headers, limit) => {
    expect(upstreamLimitOf(headers, NOW)).toEqual(limit);
  });

  it('of a recorded response', () => {
    expect(upstreamLimitOf(readRecorded('api-429').headers, NOW)).toEqual({
      remaining: 0,
      resetMs: 30_000,
    });
    expect(upstreamLimitOf(readRecorded('nginx-403').headers, NOW)).toBeUndefined();
  });

  it.each([
    ['the fewest per second', '"a";r=10;t=1, "b";r=812;t=36000', 812, 36_000_000],
    ['the fewest in the same time', '"a";r=10;t=5, "b";r=9;t=5, "c";r=11;t=5', 9, 5_000],
    ['nothing left, the longest', '"a";r=0;t=5, "b";r=0;t=60, "c";r=0;t=6', 0, 60_000],
    ['nothing left before little left', '"a";r=1;t=1000, "b";r=0;t=1', 0, 1_000],
    ['the same pace for longer', '"a";r=1;t=1, "b";r=60;t=60, "c";r=2;t=2', 60, 60_000],
    ['what can be read', '"a";r=1, "b";r=2;t=0, "c";r=9;t=9', 9, 9_000],
  ])('is the tightest: %s', (_what, field, remaining, resetMs) => {
    expect(upstreamLimitOf({ RateLimit: field }, NOW)).toEqual({ remaining, resetMs });
  });

  it('is the tightest of all headers', () => {
    const draft = { RateLimit: '"a";r=5;t=10' };
    expect(upstreamLimitOf({ ...draft, ...pair(4, 10) }, NOW)?.remaining).toBe(4);
    expect(upstreamLimitOf({ ...draft, ...pair(6, 10) }, NOW)?.remaining).toBe(5);
    const older = pair(3, 10, 'RateLimit');
    expect(upstreamLimitOf({ ...draft, ...pair(4, 10), ...older }, NOW)?.remaining).toBe(3);
    expect(upstreamLimitOf({ RateLimit: '"', ...pair(4, 10) }, NOW)?.remaining).toBe(4);
  });

  it.each<[string, ResponseHeaders]>([
    ['no headers', {}],
    ['no reset', { 'X-RateLimit-Remaining': '5' }],
    ['no remaining', { 'X-RateLimit-Reset': '5' }],
    ['half of each', { 'X-RateLimit-Remaining': '5', 'RateLimit-Reset': '5' }],
    ['a reset of zero', pair(5, 0)],
    ['a reset that has passed', pair(5, NOW_SECONDS)],
    ['a reset long ago', pair(5, 1_000_000_000)],
    ['a window of years', pair(5, 366 * 86_400 + 1)],
    ['a date in milliseconds', pair(5, NOW + 60_000)],
    ['a date too far away', pair(5, NOW_SECONDS + 366 * 86_400 + 1)],
    ['an endless number', pair(5, '9'.repeat(400))],
    ['a negative reset', pair(5, '-5')],
    ['a date in words', pair(5, 'Tue, 03 Mar 2026 09:21:30 GMT')],
    ['an exponent', pair(5, '1e1')],
    ['nothing remaining', pair('', 5)],
    ['less than nothing remaining', pair('-1', 5)],
    ['half a request remaining', pair('1.5', 5)],
    ['two values', pair('5, 4', '10, 10')],
    ['words', pair('many', 'soon')],
    ['a draft without time', { RateLimit: '"a";r=5' }],
    ['a draft of a time that has passed', { RateLimit: '"a";r=5;t=0' }],
    ['a draft of years', { RateLimit: '"a";r=5;t=31622401' }],
    ['a draft that breaks off', { RateLimit: '"a";r=5;t=10, "b' }],
    ['an older draft', { RateLimit: 'limit=100, remaining=50, reset=5' }],
  ])('is unknown with %s', (_what, headers) => {
    expect(upstreamLimitOf(headers, NOW)).toBeUndefined();
  });
});
