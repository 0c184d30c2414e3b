import { beforeEach, describe, expect, it } from '@jest/globals';
import { TroubledSlots } from '../../lib/redis/troubled-slots.js';

describe('slots that no server answers for', () => {
  let nowMs: number;
  let told: unknown[][];
  let slots: TroubledSlots;

  beforeEach(() => {
    nowMs = 1_000;
    told = [];
    const listener = {
      onDown: (...what: unknown[]) => told.push(['down', ...what]),
      onUp: (...what: unknown[]) => told.push(['up', ...what]),
      onUnreadable: () => undefined,
    };
    slots = new TroubledSlots(listener, () => nowMs);
  });

  it('are told of once, and once when all are answered for again', () => {
    slots.fail(1, 'refused');
    slots.fail(1, 'refused');
    slots.fail(2, 'refused');
    nowMs += 500;
    slots.succeed(1);
    slots.succeed(3);
    expect(told).toEqual([['down', 'some slots', 'refused']]);
    slots.succeed(2);
    expect(told[1]).toEqual(['up', 'some slots', 500, 3]);
    slots.succeed(2);
    expect(told).toHaveLength(2);
  });

  it('are counted anew when there is trouble again', () => {
    slots.fail(1, 'refused');
    slots.fail(1, 'refused');
    slots.succeed(1);
    nowMs += 1_000;
    slots.fail(2, 'lost');
    nowMs += 50;
    slots.succeed(2);
    expect(told).toEqual([
      ['down', 'some slots', 'refused'],
      ['up', 'some slots', 0, 2],
      ['down', 'some slots', 'lost'],
      ['up', 'some slots', 50, 1],
    ]);
  });

  it('are not waited for when nobody asks for them any more', () => {
    slots.fail(1, 'refused');
    nowMs += 10_000;
    slots.succeed(2);
    expect(told).toHaveLength(1);
    nowMs += 1;
    slots.succeed(2);
    expect(told[1]).toEqual(['up', 'some slots', 10_001, 1]);
    expect(slots.size).toBe(0);
  });
});
