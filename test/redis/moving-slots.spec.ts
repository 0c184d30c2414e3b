import { beforeEach, describe, expect, it } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import type { Inquiry } from '../../lib/core/limit-store.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { MovingSlotStore } from '../../lib/redis/moving-slot-store.js';
import { MovingSlots } from '../../lib/redis/moving-slots.js';
import { FakeClock } from '../support/fake-clock.js';

const GOLD = definePlan('gold', '10/s');
const DAILY = definePlan('daily', '100/day');

describe('slots that are moving', () => {
  let nowMs: number;
  let moving: MovingSlots;
  /** How many limits each question was about. */
  let asked: number[];
  let refusals: number;
  let store: MovingSlotStore;

  beforeEach(() => {
    [nowMs, asked, refusals] = [0, [], 0];
    moving = new MovingSlots(() => nowMs);
    const inner = new MemoryStore(new FakeClock());
    const answer = inner.decide.bind(inner);
    inner.decide = (inquiry) => {
      asked.push(inquiry.limits.length);
      if (refusals-- > 0)
        throw new Error('TRYAGAIN Multiple keys request during rehashing of slot');
      return answer(inquiry);
    };
    const places = {
      slotOf: ({ key }: { key: string }) => Number(key),
      nameOf: ({ plan, key }: { plan: { name: string }; key: string }) => `${plan.name}:${key}`,
    };
    store = new MovingSlotStore(inner, places, moving);
  });

  async function ask(slot: number) {
    asked = [];
    const limits = [GOLD, DAILY].map((plan) => ({ plan, key: String(slot), cost: 1 }));
    const inquiry: Inquiry = { limits, mode: 'take', maxWaitUs: 0, leaseId: '' };
    expect((await store.decide(inquiry)).allowed).toBe(true);
    return asked;
  }

  it('are asked key by key for a second, and the others together', async () => {
    expect(await ask(1)).toEqual([2]);
    moving.add(1);
    expect([await ask(1), await ask(2)]).toEqual([[1, 1], [2]]);
    nowMs = 999;
    expect([await ask(1), await ask(2)]).toEqual([[1, 1], [2]]);
    nowMs = 1_000;
    expect(await ask(1)).toEqual([2]);
  });

  it('do not share a message for two seconds, and are then forgotten', () => {
    moving.add(1);
    nowMs = 1_999;
    expect([moving.keepsApart(1), moving.keepsApart(2), moving.isEmpty]).toEqual([
      ...[true, false, false],
    ]);
    nowMs = 2_000;
    expect([moving.keepsApart(1), moving.isEmpty]).toEqual([false, true]);
  });
});
