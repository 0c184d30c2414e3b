import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import type { Inquiry, LimitStore } from '../../lib/core/limit-store.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { DeadlineError } from '../../lib/redis/deadline.js';
import { FailSafeStore } from '../../lib/redis/fail-safe-store.js';
import { FakeClock } from '../support/fake-clock.js';

const GOLD = definePlan('gold', '1000/s');

describe('a store that may fail', () => {
  let error: Error | undefined;
  let asked: number;
  let heard: string[];
  let obstacle: string | undefined;
  let store: FailSafeStore;

  beforeEach(() => {
    jest.useFakeTimers();
    [error, asked, heard, obstacle] = [undefined, 0, [], undefined];
    const clock = new FakeClock();
    const inner: LimitStore = new MemoryStore(clock);
    const answer = inner.decide.bind(inner);
    inner.decide = (inquiry) => {
      asked++;
      return error ? Promise.reject(error) : answer(inquiry);
    };
    const connection = {
      nodeOf: () => '',
      slotOf: () => 0,
      whyNotReady: () => obstacle,
      reconnect: (node: string) => heard.push(`reconnect: ${node}`),
      probe: () => (error ? Promise.reject(error) : Promise.resolve()),
    };
    store = new FailSafeStore(inner, new MemoryStore(clock), connection, {
      onStoreFailure: 'open',
      localShare: 1,
      listener: {
        onDown: (_, reason) => heard.push(`down: ${reason}`),
        onUp: () => heard.push('up'),
        onUnreadable: (plan) => heard.push(`unreadable: ${plan}`),
      },
      nowMs: () => 0,
    });
  });

  afterEach(async () => {
    await store.close();
    jest.useRealTimers();
  });

  async function decide(failing?: Error) {
    error = failing;
    const limits = [{ plan: GOLD, key: 'ada', cost: 1 }];
    const inquiry: Inquiry = { limits, mode: 'take', maxWaitUs: 0, leaseId: '' };
    return (await store.decide(inquiry)).failure ?? 'shared';
  }

  const late = () => new DeadlineError('no answer');

  it('goes on asking after one failure and after two', async () => {
    expect([await decide(late()), await decide(late()), await decide()]).toEqual([
      ...['open', 'open', 'shared'],
    ]);
    expect([asked, heard]).toEqual([3, []]);
  });

  it('stops asking after three in a row, and says so once', async () => {
    for (let i = 0; i < 5; i++) expect(await decide(late())).toBe('open');
    expect([asked, heard]).toEqual([3, ['down: no answer']]);
  });

  it('counts failures in a row: an answer in between starts anew', async () => {
    for (let i = 0; i < 10; i++) {
      await decide(late());
      await decide(late());
      expect(await decide()).toBe('shared');
    }
    expect([asked, heard]).toEqual([30, []]);
  });

  it('asks again once a probe was answered', async () => {
    for (let i = 0; i < 3; i++) await decide(late());
    error = undefined;
    await jest.advanceTimersByTimeAsync(100);
    expect(await decide()).toBe('shared');
    expect(heard).toEqual(['down: no answer', 'up']);
  });

  it('asks nothing while probes fail, and replaces the connection after every second silence', async () => {
    for (let i = 0; i < 3; i++) await decide(late());
    await jest.advanceTimersByTimeAsync(400);
    expect(await decide(late())).toBe('open');
    expect(asked).toBe(3);
    expect(heard).toEqual(['down: no answer', 'reconnect: ', 'reconnect: ']);
  });

  it('asks nothing while there is no connection, whatever a probe would say', async () => {
    obstacle = 'not connected';
    expect(await decide()).toBe('open');
    await jest.advanceTimersByTimeAsync(300);
    expect([await decide(), asked, heard]).toEqual(['open', 0, ['down: not connected']]);
    obstacle = undefined;
    await jest.advanceTimersByTimeAsync(100);
    expect([await decide(), heard[1]]).toEqual(['shared', 'up']);
  });

  it('goes on asking whatever is wrong with a key', async () => {
    for (let i = 0; i < 5; i++) await decide(new Error('WRONGTYPE Operation against a key'));
    expect([asked, heard]).toEqual([5, Array(5).fill('unreadable: gold')]);
  });
});
