import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { chartOf } from './chart.mjs';

const row = (measure: string, ratio: number, spread: [number, number]) => ({
  measure,
  unit: '/s',
  ratio,
  spread,
});

/** Where the bars and the lines over them begin, and how far they reach. */
function shapesOf(svg: string) {
  const numbers = (pattern: RegExp) =>
    [...svg.matchAll(pattern)].map(([, from, to]) => [Number(from), Number(to)]);
  return {
    bars: numbers(/class="bar" x="([\d.]+)" [^>]*width="([\d.]+)"/g),
    ranges: numbers(/class="range" x1="([\d.]+)" x2="([\d.]+)"/g),
    one: Number(/class="one" x1="([\d.]+)"/.exec(svg)![1]),
  };
}

describe('the chart of the benchmark', () => {
  it('draws the same length for twice as many and for half as many, on either side', () => {
    const svg = chartOf([row('fast', 2, [2, 2]), row('slow', 0.5, [0.5, 0.5])]);
    const { bars, one } = shapesOf(svg);
    const [[fast, right], [slow, left]] = bars as [[number, number], [number, number]];
    expect(fast).toBe(one);
    expect(slow + left).toBeCloseTo(one, 0);
    expect(left).toBeCloseTo(right, 0);
  });

  it('spans the lowest and the highest', () => {
    const { bars, ranges } = shapesOf(chartOf([row('wide', 4, [2, 8])]));
    const [[from, width]] = bars as [[number, number]];
    const [[lowest, highest]] = ranges as [[number, number]];
    expect(lowest - from).toBeCloseTo(width / 2, 0);
    expect(highest - from).toBeCloseTo(width * 1.5, 0);
  });

  it('shows names as text, and leaves out what has no range', () => {
    const svg = chartOf([
      row('a < b & c', 1, [1, 1]),
      { measure: 'bytes of a bucket', unit: 'bytes', ratio: 2 },
    ]);
    expect(svg).toContain('>a &lt; b &amp; c<');
    expect(svg).not.toContain('bytes of a bucket');
  });

  it('is drawn from the results that are kept beside it', () => {
    const rows = JSON.parse(readFileSync('test/bench/results.json', 'utf8')) as never;
    expect(readFileSync('test/bench/chart.svg', 'utf8')).toBe(chartOf(rows));
  });
});
