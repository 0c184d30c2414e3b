import { describe, expect, it } from '@jest/globals';
import { TestClock } from '../../lib/testing/test-clock.js';

describe('the clock of a test', () => {
  it('stands still until it is moved on, by milliseconds and parts of them', () => {
    const clock = new TestClock();
    const startUs = clock.nowUs();
    expect(clock.nowUs()).toBe(startUs);
    clock.advance(0);
    expect(clock.nowUs()).toBe(startUs);
    clock.advance(1_500);
    clock.advance(0.25);
    expect(clock.nowUs()).toBe(startUs + 1_500_250);
  });

  it.each([-1, -0.001, NaN, Infinity])('refuses to move on by %d ms', (ms) => {
    const clock = new TestClock();
    const startUs = clock.nowUs();
    expect(() => clock.advance(ms)).toThrow('a number of milliseconds from 0 up');
    expect(clock.nowUs()).toBe(startUs);
  });
});
