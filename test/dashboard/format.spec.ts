import { describe, expect, it } from '@jest/globals';
import {
  count,
  duration,
  estimate,
  percent,
  quota,
  rate,
} from '../../lib/dashboard/page/format.js';

describe('numbers on the page', () => {
  it('are grouped, and shortened only when nobody would read them', () => {
    expect([0, 999, 12_345, 9_999_999].map(count)).toEqual(['0', '999', '12,345', '9,999,999']);
    expect(count(12_345_678)).toBe('12.3M');
  });

  it('say how exact they are', () => {
    expect(estimate({ count: 22, atLeast: 22, atMost: 22 })).toBe('22');
    expect(estimate({ count: 3, atLeast: 3, atMost: 21 })).toBe('≥ 3');
    expect(estimate({ count: 20_000, atLeast: 310, atMost: null })).toBe('≈ 20,000');
    expect(estimate({ count: 3, atLeast: 3, atMost: null })).toBe('≥ 3');
  });

  it('show a tenth only where it matters', () => {
    expect([0, 0.04, 0.5, 3.96, 9.5, 10.4, 1_234.5].map(rate)).toEqual([
      ...['0', '0', '0.5', '4', '9.5', '10', '1,235'],
    ]);
  });

  it('tell times in the unit that a person would use', () => {
    const times: [number, string][] = [
      [0, '0 ms'],
      [0.14, '0.1 ms'],
      [5, '5 ms'],
      [85.4, '85 ms'],
      [999, '999 ms'],
      [999.9, '1 s'],
      [1_240, '1.2 s'],
      [45_000, '45 s'],
      [60_000, '60 s'],
      [180_000, '3 min'],
      [7_200_000, '2 h'],
      [86_400_000, '24 h'],
      [345_600_000, '4 d'],
    ];
    for (const [ms, text] of times) expect([ms, duration(ms)]).toEqual([ms, text]);
  });

  it('never round a little to nothing, nor nearly all to all', () => {
    expect([0, 0.001, 0.833, 0.996, 1].map(percent)).toEqual([
      ...['0 %', '<1 %', '83 %', '>99 %', '100 %'],
    ]);
  });

  it('say what a plan allows', () => {
    expect(quota({ kind: 'token-bucket', quota: 5, windowMs: 10_000 })).toBe('5 in 10 s');
    expect(quota({ kind: 'concurrency', quota: 3, windowMs: 0 })).toBe('3 at once');
    expect(quota({ kind: 'sliding-window', quota: -1, windowMs: 1_000 })).toBe('no limit');
    expect(quota({ kind: 'sliding-window', quota: 0, windowMs: 1_000 })).toBe('denies all');
  });
});
