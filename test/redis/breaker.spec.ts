import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Breaker } from '../../lib/redis/breaker.js';
import { DeadlineError } from '../../lib/redis/deadline.js';

describe('a breaker', () => {
  let nowMs: number;
  let heard: unknown[][];
  let probes: number;
  let probe: () => Promise<unknown>;
  let breaker: Breaker;

  beforeEach(() => {
    jest.useFakeTimers();
    nowMs = 5_000;
    heard = [];
    probes = 0;
    probe = () => Promise.reject(new Error('refused'));
    breaker = new Breaker({
      probe: () => {
        probes++;
        return probe();
      },
      reconnect: () => heard.push(['reconnect']),
      onDown: (reason) => heard.push(['down', reason]),
      onUp: (...what) => heard.push(['up', ...what]),
      nowMs: () => nowMs,
    });
  });

  afterEach(() => {
    breaker.stop();
    jest.useRealTimers();
  });

  async function pass(milliseconds: number) {
    nowMs += milliseconds;
    await jest.advanceTimersByTimeAsync(milliseconds);
  }

  it('opens at the third failure in a row, not before', () => {
    breaker.fail('first');
    breaker.fail('second');
    expect([breaker.isOpen, heard]).toEqual([false, []]);
    breaker.fail('third');
    expect([breaker.isOpen, heard]).toEqual([true, [['down', 'third']]]);
  });

  it('opens at once when the server is down for certain', () => {
    breaker.fail('no connection', true);
    expect([breaker.isOpen, heard]).toEqual([true, [['down', 'no connection']]]);
  });

  it('says so once, whatever fails while it is open', () => {
    breaker.fail('no connection', true);
    for (let i = 0; i < 10; i++) breaker.fail('again', i % 2 === 0);
    expect(heard).toEqual([['down', 'no connection']]);
    expect(jest.getTimerCount()).toBe(1);
  });

  it('tries nothing while it is closed', async () => {
    breaker.fail('first');
    await pass(1_000);
    expect(probes).toBe(0);
  });

  it('tries every 100 ms, and closes with the first answer', async () => {
    breaker.fail('no connection', true);
    await pass(99);
    expect(probes).toBe(0);
    await pass(1);
    expect(probes).toBe(1);
    await pass(250);
    expect([probes, breaker.isOpen]).toEqual([3, true]);
    for (let i = 0; i < 7; i++) breaker.countDecision();
    probe = () => Promise.resolve();
    await pass(50);
    expect(breaker.isOpen).toBe(false);
    expect(heard[1]).toEqual(['up', 400, 7]);
    await pass(1_000);
    expect([probes, heard.length]).toEqual([4, 2]);
  });

  it('has one probe under way at a time', async () => {
    let answer = () => {};
    probe = () => new Promise<void>((resolve) => (answer = resolve));
    breaker.fail('no connection', true);
    await pass(1_000);
    expect(probes).toBe(1);
    answer();
    await pass(0);
    expect(breaker.isOpen).toBe(false);
  });

  it('replaces the connection after every second probe without an answer', async () => {
    probe = () => Promise.reject(new DeadlineError('no answer'));
    breaker.fail('no connection', true);
    const reconnects = [];
    for (let i = 0; i < 5; i++) {
      await pass(100);
      reconnects.push(heard.filter(([what]) => what === 'reconnect').length);
    }
    expect(reconnects).toEqual([0, 1, 1, 2, 2]);
  });

  it('keeps a connection that answers, though with errors', async () => {
    breaker.fail('no connection', true);
    await pass(1_000);
    expect([probes, heard]).toEqual([10, [['down', 'no connection']]]);
  });

  it('tries no more once it is stopped', async () => {
    breaker.fail('no connection', true);
    breaker.stop();
    await pass(1_000);
    expect(probes).toBe(0);
  });
});
