import { beforeEach, describe, expect, it } from '@jest/globals';
import { FailingSlots } from '../../lib/redis/failing-slots.js';

describe('the slots that fail', () => {
  let nowMs: number;
  let failing: FailingSlots;

  beforeEach(() => {
    nowMs = 0;
    failing = new FailingSlots(() => nowMs);
  });

  const blame = (...slots: number[]) => slots.map((slot) => failing.blame('a', slot));

  it('are to blame when they fail alone three times in a row', () => {
    expect(blame(1, 1, 1)).toEqual([undefined, undefined, 'slot']);
  });

  it('are to blame alone as long as the server answers for others', () => {
    for (const expected of [undefined, undefined, 'slot']) {
      expect(failing.blame('a', 1)).toBe(expected);
      failing.succeed('a', 2);
    }
  });

  it('begin anew after an answer', () => {
    blame(1, 1);
    failing.succeed('a', 1);
    expect(blame(1, 1)).toEqual([undefined, undefined]);
  });

  it('put the blame on their server when there are several', () => {
    expect(blame(1, 2, 1, 3)).toEqual([undefined, 'node', 'node', 'node']);
    expect(failing.blame('b', 4)).toBeUndefined();
  });

  it('are forgotten when nobody asks for them any more', () => {
    blame(1);
    failing.succeed('a', 2);
    expect(failing.size).toBe(1);
    nowMs = 10_001;
    failing.succeed('a', 2);
    expect(failing.size).toBe(0);
  });
});
