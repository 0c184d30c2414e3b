import { beforeEach, describe, expect, it } from '@jest/globals';
import { limitStatsJson, LimitStats } from '../../lib/outbound/limit-stats.js';

const NOON = Date.UTC(2025, 9, 12, 10, 30, 45);

const NOTHING = {
  totalRequests: 0,
  delayedRequests: 0,
  totalWaitMs: 0,
  averageWaitMs: 0,
  delayRate: 0,
  lastRequestTime: undefined,
  cancelledRequests: 0,
};

describe('the stats of a domain', () => {
  let stats: LimitStats;
  beforeEach(() => {
    stats = new LimitStats();
  });

  it('start with nothing', () => {
    expect(stats.snapshot()).toStrictEqual(NOTHING);
  });

  it('tell permits, waits and who gave up', () => {
    stats.recordPermit(0, NOON);
    stats.recordPermit(100, NOON + 1_000);
    stats.recordPermit(50.5, NOON + 2_000);
    stats.recordPermit(0, NOON + 3_000);
    stats.recordCancelled();
    stats.recordCancelled();
    expect(stats.snapshot()).toStrictEqual({
      totalRequests: 4,
      delayedRequests: 2,
      totalWaitMs: 150.5,
      averageWaitMs: 75.25,
      delayRate: 0.5,
      lastRequestTime: new Date(NOON + 3_000),
      cancelledRequests: 2,
    });
  });

  it.each([
    [-5, 0],
    [0, 0],
    [9.9, 0],
    [10, 0],
    [10.1, 1],
    [Number.NaN, 0],
  ])('count a wait of %d ms as %d delayed', (waitedMs, delayedRequests) => {
    stats.recordPermit(waitedMs, NOON);
    expect(stats.snapshot()).toMatchObject({
      totalRequests: 1,
      delayedRequests,
      totalWaitMs: delayedRequests * waitedMs || 0,
      averageWaitMs: delayedRequests * waitedMs || 0,
    });
  });

  it('of those who gave up are no requests', () => {
    stats.recordCancelled();
    expect(stats.snapshot()).toStrictEqual({ ...NOTHING, cancelledRequests: 1 });
  });

  it('are a picture that later requests do not change', () => {
    stats.recordPermit(20, NOON);
    const before = stats.snapshot();
    stats.recordPermit(20, NOON + 1);
    stats.recordCancelled();
    expect(before).toStrictEqual({
      totalRequests: 1,
      delayedRequests: 1,
      totalWaitMs: 20,
      averageWaitMs: 20,
      delayRate: 1,
      lastRequestTime: new Date(NOON),
      cancelledRequests: 0,
    });
  });

  it('are forgotten when they are reset', () => {
    stats.recordPermit(20, NOON);
    stats.recordCancelled();
    stats.reset();
    expect(stats.snapshot()).toStrictEqual(NOTHING);
    stats.recordPermit(0, NOON);
    expect(stats.snapshot()).toMatchObject({ totalRequests: 1, delayRate: 0, averageWaitMs: 0 });
  });
});

describe('the stats of a domain as JSON', () => {
  it('have the fields of the example', () => {
    const stats = new LimitStats();
    for (let request = 0; request < 70; request++) stats.recordPermit(0, NOON - 1_000);
    for (let request = 0; request < 30; request++) stats.recordPermit(100, NOON);
    expect(JSON.parse(JSON.stringify(limitStatsJson('javdb.com', stats.snapshot())))).toEqual({
      domain: 'javdb.com',
      total_requests: 100,
      delayed_requests: 30,
      total_wait_time_ms: 3000,
      average_wait_time_ms: 100,
      last_request_time: '2025-10-12T10:30:45.000Z',
      delay_rate: 0.3,
      cancelled_requests: 0,
    });
  });

  it('have no time before the first request', () => {
    expect(limitStatsJson('javdb.com', new LimitStats().snapshot())).toMatchObject({
      last_request_time: null,
      cancelled_requests: 0,
    });
  });
});
