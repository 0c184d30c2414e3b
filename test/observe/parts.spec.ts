import { describe, expect, it, jest } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import { Lease } from '../../lib/core/lease.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { DenialLog } from '../../lib/observe/denial-log.js';
import { maskKey } from '../../lib/observe/mask-key.js';
import { ObservedLeases } from '../../lib/observe/observed-leases.js';
import { Sampler } from '../../lib/observe/sampler.js';
import { SecondSeries } from '../../lib/observe/second-series.js';
import { StoreHealth } from '../../lib/observe/store-health.js';
import { StoreOperations } from '../../lib/observe/store-operations.js';
import { TIME_BUCKETS_SECONDS, TimeRecord } from '../../lib/observe/time-stats.js';
import { newTopics } from '../../lib/observe/topics.js';
import { FakeClock } from '../support/fake-clock.js';

describe('a mask', () => {
  it.each([
    ['principal:ada-42', 'pr…42'],
    ['ip:203.0.113.7', 'ip….7'],
    ['sk_live_4eC39HqLyjWDarjtT1zdp7dc', 'sk…dc'],
    ['short1', 's…'],
    ['abc', '…'],
    ['', '…'],
    ['\u001b[31mred text\n\n', '·[…··'],
    ['<b>bold keys</b>', '<b…b>'],
    ['🦊🦊🦊🦊🦊🦊🦊🦊🦊🦊', '🦊🦊…🦊🦊'],
  ])('of %j shows its ends at most: %s', (key, mask) => {
    expect(maskKey(key)).toMatch(/ #[\da-f]{4}$/);
    expect(maskKey(key).slice(0, -6)).toBe(mask);
  });

  it('hides most of every key, whatever its length', () => {
    for (let length = 1; length < 300; length++) {
      const key = Array.from({ length }, (_, i) => String.fromCharCode(97 + (i % 26))).join('');
      const [mask] = maskKey(key).split(' ') as [string];
      const shown = mask.replace('…', '').length;
      expect(shown).toBeLessThanOrEqual(Math.min(4, Math.floor(length * 0.4)));
    }
  });

  it('tells keys with the same ends apart, the same way every time', () => {
    expect(maskKey('principal:ada-42')).toBe(maskKey('principal:ada-42'));
    expect(maskKey('principal:ada-42')).not.toBe(maskKey('principal:bob-42'));
  });
});

describe('the sampler', () => {
  it('chooses all while there is little, and fewer under load, with the weight to match', () => {
    let nowMs = 0;
    const sampler = new Sampler(() => nowMs, Math.random);
    for (let i = 0; i < 1_000; i++) {
      nowMs += 1;
      expect([sampler.next(), sampler.weight]).toEqual([1, 1]);
    }
    expect(sampler.hasSkipped).toBe(false);
    let seen = 0;
    let stoodFor = 0;
    // A million in a second.
    for (let left = 1; seen < 1_000_000; seen++) {
      nowMs += 0.001;
      if (--left > 0) continue;
      stoodFor += sampler.weight;
      left = sampler.next();
    }
    expect(sampler.weight).toBeGreaterThan(100);
    expect(stoodFor / seen).toBeGreaterThan(0.7);
    expect(stoodFor / seen).toBeLessThan(1.3);
    for (let i = 0; i < 10_000; i++) {
      nowMs += 10;
      sampler.next();
    }
    expect([sampler.weight, sampler.hasSkipped]).toEqual([1, true]);
  });

  it('leaves none out of four thousand that come at once, and recovers soon after a flood', () => {
    let nowMs = 0;
    const sampler = new Sampler(() => nowMs, Math.random);
    for (let i = 0; i < 4_000; i++) expect(sampler.next()).toBe(1);
    for (let i = 0; i < 10_000; i++) sampler.next();
    expect(sampler.weight).toBe(8_192);
    nowMs += 10_000;
    let samples = 0;
    for (; sampler.weight > 1; samples++) {
      nowMs += 100;
      sampler.next();
    }
    expect(samples).toBeLessThan(20);
  });
});

describe('times', () => {
  it('are told as percentiles and buckets', () => {
    const times = new TimeRecord();
    for (let ms = 1; ms <= 100; ms++) times.record(ms);
    const { count, sumMs, meanMs, p50Ms, p95Ms, p99Ms, maxMs, buckets } = times.snapshot();
    expect([count, sumMs, meanMs, maxMs]).toEqual([100, 5_050, 50.5, 100]);
    expect(Math.abs(p50Ms - 50)).toBeLessThan(1);
    expect(Math.abs(p95Ms - 95)).toBeLessThan(1.5);
    expect(Math.abs(p99Ms - 99)).toBeLessThan(1.5);
    const below = (seconds: number) => buckets[TIME_BUCKETS_SECONDS.indexOf(seconds)];
    expect([0.005, 0.01, 0.05, 0.1, 60].map(below)).toEqual([5, 10, 50, 100, 100]);
  });

  it('are zero before there are any, and never nonsense', () => {
    const times = new TimeRecord();
    expect(times.snapshot()).toMatchObject({ count: 0, meanMs: 0, p99Ms: 0, maxMs: 0 });
    for (const ms of [-5, Number.NaN, 0, 1e12]) times.record(ms);
    const { count, maxMs, buckets } = times.snapshot();
    expect([count, maxMs, buckets.at(-1)]).toEqual([4, 1e12, 3]);
  });
});

describe('the log of denials', () => {
  it('keeps the last ones, the latest first', () => {
    const log = new DenialLog(3);
    expect(log.latest()).toEqual([]);
    for (let i = 1; i <= 5; i++) log.add(i, `plan-${i}`, 'key', i * 1_000);
    expect(log.latest().map(({ atMs, retryAfterMs }) => [atMs, retryAfterMs])).toEqual([
      [5, 5],
      [4, 4],
      [3, 3],
    ]);
    log.add(6, 'closed', 'key', Number.POSITIVE_INFINITY);
    expect(log.latest()[0]!.retryAfterMs).toBeNull();
  });

  it('begins anew when it is cleared', () => {
    const log = new DenialLog(3);
    for (let i = 1; i <= 2; i++) log.add(i, 'gold', 'key', 0);
    log.clear();
    expect(log.latest()).toEqual([]);
    for (let i = 3; i <= 4; i++) log.add(i, 'gold', 'key', 0);
    expect(log.latest().map(({ atMs }) => atMs)).toEqual([4, 3]);
  });
});

describe('the operations of a store', () => {
  it('are kept by what was asked and what went wrong, until they are reset', () => {
    const operations = new StoreOperations(newTopics().store);
    operations.onOperation('decide', 2);
    operations.onOperation('decide', 6);
    operations.onOperation('decide', 50, 'DeadlineError');
    operations.onOperation('renew', 1);
    const seen = () =>
      operations.snapshot().map(({ operation, error, times }) => [operation, error, times.count]);
    expect(seen()).toEqual([
      ['decide', '', 2],
      ['decide', 'DeadlineError', 1],
      ['renew', '', 1],
    ]);
    operations.reset();
    expect(seen()).toEqual([]);
  });

  it('are fifty at most, and one for the rest of each', () => {
    const operations = new StoreOperations(newTopics().store);
    for (let i = 0; i < 100; i++) operations.onOperation('decide', 1, `E${i}`);
    const seen = operations.snapshot().map(({ error, times }) => [error, times.count]);
    expect(seen).toHaveLength(51);
    expect(seen.at(-1)).toEqual(['other', 50]);
  });

  it('are published while somebody listens, and nothing is made otherwise', () => {
    const topic = newTopics().store;
    const operations = new StoreOperations(topic);
    const published = jest.spyOn(topic, 'publish');
    operations.onOperation('decide', 1);
    expect(published).not.toHaveBeenCalled();
    const heard: unknown[] = [];
    const listener = (message: unknown) => heard.push(message);
    topic.add(listener);
    operations.onOperation('decide', 2);
    operations.onOperation('renew', 3, 'ECONNRESET');
    topic.delete(listener);
    expect(heard).toEqual([
      { event: 'operation', operation: 'decide', durationMs: 2 },
      { event: 'operation', operation: 'renew', durationMs: 3, error: 'ECONNRESET' },
    ]);
  });
});

describe('the series', () => {
  it('is written down while somebody looks, for two minutes', () => {
    jest.useFakeTimers();
    const counted = { allowed: 0, delayed: 0, denied: 0 };
    const series = new SecondSeries({
      read: () => counted,
      nowMs: () => performance.now(),
      timeMs: () => Date.now(),
    });
    counted.allowed = 1_000;
    expect(jest.getTimerCount()).toBe(0);
    expect(series.read()).toEqual([]);
    for (let second = 0; second < 130; second++) {
      counted.allowed += 10;
      counted.denied += 2;
      jest.advanceTimersByTime(1_000);
    }
    const points = series.read();
    expect(points).toHaveLength(120);
    expect(points.at(-1)).toMatchObject({ allowed: 10, delayed: 0, denied: 2 });
    expect(points[1]!.atMs - points[0]!.atMs).toBe(1_000);
    jest.advanceTimersByTime(200_000);
    expect(jest.getTimerCount()).toBe(0);
    expect(series.read()).toEqual([]);
    series.stop();
    expect(jest.getTimerCount()).toBe(0);
    jest.useRealTimers();
  });
});

describe('leases that are observed', () => {
  it('are known while they are held, and forgotten when they are over', async () => {
    let nowMs = 0;
    const told: number[] = [];
    const keeper = { hold: jest.fn(), drop: jest.fn(), limitHold: jest.fn() };
    const leases = new ObservedLeases(
      keeper,
      () => nowMs,
      (_limits, heldMs) => told.push(heldMs),
    );
    const plan = definePlan('slots', { maxConcurrent: 5 });
    const limits = [{ plan, key: 'ada', cost: 1 }];
    const store = new MemoryStore(new FakeClock());
    const decision = { allowed: true, waitUs: 0, atUs: 0, limits: [] };
    const lease = new Lease(decision, { leaseId: 'one', limits }, { store, keeper: leases });
    expect([...leases.limits()]).toEqual(limits);
    expect(leases.size).toBe(1);
    nowMs = 250;
    await lease.release();
    await lease.release();
    expect([...leases.limits()]).toEqual([]);
    expect(leases.size).toBe(0);
    expect(told).toEqual([250]);
    expect([keeper.hold.mock.calls.length, keeper.drop.mock.calls.length]).toEqual([1, 1]);
  });
});

describe('the health of a store', () => {
  it('knows which servers are away, since when and why, for a bounded number of them', () => {
    let nowMs = 1_000;
    const health = new StoreHealth(newTopics().store, () => nowMs);
    expect(health.failingSinceAtMs).toBeNull();
    health.onDown('one', 'ECONNREFUSED');
    nowMs = 2_000;
    health.onDown('two', 'no answer within 50 ms');
    expect(health.failingSinceAtMs).toBe(1_000);
    nowMs = 3_000;
    health.onUp('one', 2_000, 7);
    expect(health.failingSinceAtMs).toBe(2_000);
    expect(health.servers()).toMatchObject([
      { server: 'two', breaker: 'open', sinceAtMs: 2_000, outages: 1 },
      { server: 'one', breaker: 'closed', sinceAtMs: 3_000, decidedWithout: 7 },
    ]);
    for (let i = 0; i < 500; i++) {
      health.onDown(`node-${i}`, 'gone');
      health.onUp(`node-${i}`, 1, 0);
    }
    expect(health.servers()).toHaveLength(50);
    expect(health.servers().map(({ server }) => server)).toContain('two');
  });
});
