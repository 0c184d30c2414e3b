import { describe, expect, it } from '@jest/globals';
import { OutboundRules } from '../../lib/outbound/outbound-rules.js';
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

/** What may happen while many wait at a domain of one call a second. */
type Event = (stage: OutboundStage, i: number, leave: (i: number) => void) => unknown;

const PER_SECOND = { requestsPerSecond: 1, burstCapacity: 1 };
const TURNED = [PER_SECOND, { requestsPerSecond: 2, burstCapacity: 1 }].map(
  (rule) => new OutboundRules({ default: rule }),
);

const EVENTS: Record<string, { readonly event: Event; readonly costs?: readonly number[] }> = {
  'come and leave one by one': {
    event: async ({ ticker }, i, leave) => {
      leave(i - (i % 7));
      await ticker.advance(0);
    },
  },
  'come and leave one by one, at different costs': {
    costs: [1, 3, 2],
    event: async ({ ticker }, i, leave) => {
      leave(i - (i % 7));
      await ticker.advance(1);
    },
  },
  'come, leave and are too late, while rules change and cooldowns begin': {
    event: async ({ ticker, book, throttler }, i, leave) => {
      leave(i - (i % 5));
      if (i % 10 === 0) await ticker.advance(i % 100);
      // As often as a share of all: each makes everybody book anew.
      if (i % 2_500 === 1_000) await book.changeRules(TURNED[(i / 500) % 2]!);
      if (i % 5_000 === 2_000) await throttler.pause(SITE, 1_000);
    },
  },
};

/** Processor time in milliseconds while so many come, and something happens for each. */
async function mixedWorkMs(count: number, name: string): Promise<number> {
  const { event, costs = [1] } = EVENTS[name]!;
  const stage = new OutboundStage({ default: { ...PER_SECOND, burstCapacity: 5 } });
  const leaving: AbortController[] = [];
  let gone = 0;
  const before = process.cpuUsage();
  for (let i = 0; i < count; i++) {
    const aborting = (leaving[i] = new AbortController());
    const options = { tokens: costs[i % costs.length]!, signal: aborting.signal };
    const timeoutMs = i % 3 === 0 ? 1_000 + i : Number.POSITIVE_INFINITY;
    void stage.limiter
      .wait(SITE, { ...options, timeoutMs })
      .catch(() => undefined)
      .finally(() => gone++);
    await event(stage, i, (one) => leaving[one]!.abort());
  }
  for (const aborting of leaving) aborting.abort();
  await stage.ticker.advance(100);
  const workMs = process.cpuUsage(before).user / 1_000;
  expect(gone).toBe(count);
  return workMs;
}

/** The least of several, since the collector of garbage works when it likes. */
async function leastWorkMs(count: number, way: (typeof WAYS)[string]): Promise<number> {
  const costs: number[] = [];
  for (let i = 0; i < RUNS; i++) costs.push(await workMs(count, way));
  return Math.min(...costs);
}

describe('a crowd that waits for its turns', () => {
  it.each(Object.keys(EVENTS))(
    'costs in proportion to its size when they %s',
    async (name) => {
      await mixedWorkMs(1_000, name);
      const few = await mixedWorkMs(2_500, name);
      const many = await mixedWorkMs(20_000, name);
      expect(many / few).toBeLessThan(24);
    },
    120_000,
  );
});

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
