import { describe, expect, it } from '@jest/globals';
import type { WaitOptions } from '../../lib/outbound/wait-options.js';
import { OutboundStage } from '../support/outbound-stage.js';

const SITE = 'site.example';
const RUNS = 3;

/** How those who came during a cooldown of 45 s leave: the first tells that all is well again. */
const WAYS: Record<string, (i: number, signal: AbortSignal) => WaitOptions> = {
  'are let go': () => ({}),
  'are aborted': (_i, signal) => ({ signal }),
  'are too late': (i) => ({ timeoutMs: 45_001 + (i % 100) }),
};

/** Processor time in milliseconds from the first who comes until the last has left. */
async function workMs(count: number, way: (typeof WAYS)[string]): Promise<number> {
  const rule = { requestsPerSecond: 1e6, burstCapacity: 1e5 };
  const { ticker, limiter, throttler } = new OutboundStage({ default: rule });
  for (let i = 0; i < 3; i++) await throttler.recordBlock(SITE, 'captcha');
  const aborting = new AbortController();
  let gone = 0;
  const call = async (options: WaitOptions) => {
    const permit = await limiter.wait(SITE, options);
    if (permit.isProbe) await throttler.recordSuccess(SITE, { permit });
  };
  const before = process.cpuUsage();
  for (let i = 0; i < count; i++) {
    call(way(i, aborting.signal))
      .catch(() => undefined)
      .finally(() => gone++);
  }
  await ticker.advance(10);
  aborting.abort();
  await ticker.advance(50_000);
  expect(gone).toBe(count);
  return process.cpuUsage(before).user / 1_000;
}

/** The least of several, since the collector of garbage works when it likes. */
async function leastWorkMs(count: number, way: (typeof WAYS)[string]): Promise<number> {
  const costs: number[] = [];
  for (let i = 0; i < RUNS; i++) costs.push(await workMs(count, way));
  return Math.min(...costs);
}

describe('a crowd in a cooldown', () => {
  // If everybody were looked at whenever somebody comes or leaves, it would cost fifty times as much.
  it.each(Object.entries(WAYS))(
    'costs in proportion to its size when they %s',
    async (_name, way) => {
      await workMs(1_000, way);
      const few = await leastWorkMs(1_000, way);
      const many = await leastWorkMs(8_000, way);
      expect(many / few).toBeLessThan(20);
    },
    120_000,
  );
});
