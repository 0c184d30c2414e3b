import { describe, expect, it } from '@jest/globals';
import { parseList } from 'structured-headers';
import { definePlan } from '../../lib/core/define-plan.js';
import { InMemoryPlanRegistry } from '../../lib/core/in-memory-plan-registry.js';
import type { PlanDefinition } from '../../lib/core/plan.js';
import type { LimitStatus, RateLimitResult } from '../../lib/core/rate-limit-result.js';
import { RateLimiter } from '../../lib/core/rate-limiter.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import type { Telling } from '../../lib/nest/rate-limit-headers.js';
import { HeaderMemo, writeHeaders } from '../../lib/nest/rate-limit-headers.js';
import { FakeClock } from '../support/fake-clock.js';

const PLANS = {
  bucket: { capacity: 4, tokensPerSecond: 0.5 },
  window: { limit: 4, windowMs: 5_000 },
  large: { capacity: 1e12, tokensPerSecond: 1e4 },
  swift: { capacity: 100, tokensPerSecond: 1_000 },
} satisfies Record<string, PlanDefinition>;

function createLimiter() {
  const clock = new FakeClock();
  const store = new MemoryStore(clock);
  const registry = new InMemoryPlanRegistry(PLANS);
  const limiter = new RateLimiter({ registry, store, newLeaseId: () => 'lease' });
  return { clock, limiter };
}

/** What a caller is told, by the name of the header. */
function write(
  result: RateLimitResult,
  style: Telling['style'] = 'draft-11',
  memo = new HeaderMemo(),
): Record<string, string> {
  const headers: Record<string, string> = {};
  const set = (name: string, value: string) => {
    headers[name] = value;
  };
  const told = { policy: '', state: '', legacyRemaining: Number.POSITIVE_INFINITY };
  writeHeaders(result, told, { style, memo, set });
  return headers;
}

function statusOf(name: string, definition: PlanDefinition, more: Partial<LimitStatus> = {}) {
  const { kind, quota, windowMs, shadow } = definePlan(name, definition);
  const limits = { plan: name, kind, quota, windowMs, shadow };
  return { ...limits, remaining: quota, retryAfterMs: 0, resetMs: 0, denied: false, ...more };
}

describe('the headers', () => {
  it('never tell a time of 0 seconds', async () => {
    const { limiter } = createLimiter();
    expect(write(await limiter.allow('user', 'swift'))).toEqual({
      'RateLimit-Policy': '"swift";q=100;w=1',
      RateLimit: '"swift";r=99;t=1',
    });
  });

  it('fit what RFC 9651 calls an integer, however large the plan', async () => {
    const { limiter } = createLimiter();
    const headers = write(await limiter.allow('user', 'large', 5e11));
    expect(headers).toEqual({
      'RateLimit-Policy': '"large";q=1000000000000;w=100000000',
      RateLimit: '"large";r=500000000000;t=50000000',
    });
    expect(parseList(headers['RateLimit-Policy']!)).toHaveLength(1);
  });

  it('tell the next token of an empty bucket, and the rest of a window', async () => {
    const { limiter, clock } = createLimiter();
    expect(write(await limiter.allow('user', 'bucket', 4))['RateLimit']).toBe('"bucket";r=0;t=2');
    expect(write(await limiter.allow('user', 'window', 4))['RateLimit']).toBe('"window";r=0;t=10');
    clock.advanceMs(7_500);
    expect(write(await limiter.allow('user', 'window', 1))['RateLimit']).toBe('"window";r=1;t=8');
  });

  it('tell nothing when nothing limits', async () => {
    const { limiter } = createLimiter();
    expect(write(await limiter.allow('user', []))).toEqual({});
    expect(write(await limiter.allow('user', []), 'legacy')).toEqual({});
  });

  it('tell only when to retry when there are to be none', async () => {
    const { limiter } = createLimiter();
    expect(write(await limiter.allow('user', 'bucket', 4), false)).toEqual({});
    expect(write(await limiter.allow('user', 'bucket'), false)).toEqual({
      'Retry-After': '2',
      'Cache-Control': 'no-store',
    });
  });

  it('tell no time to retry where a plan can never be passed', async () => {
    const { limiter } = createLimiter();
    const denied = await limiter.allow('user', ['bucket', { plan: 'window', tokens: 5 }], 4);
    expect(write(denied)).toEqual({
      'RateLimit-Policy': '"bucket";q=4;w=8, "window";q=4;w=5',
      RateLimit: '"bucket";r=4;t=1, "window";r=4',
      'Cache-Control': 'no-store',
    });
  });
});

describe('the memory of the last headers', () => {
  const gold = statusOf('gold', '10/10s', { remaining: 9, resetMs: 1_000 });
  const slots = statusOf('slots', { maxConcurrent: 3 }, { remaining: 2 });
  const before = {
    policy: '"gold";q=10;w=10, "slots";q=3;qu="concurrent-requests"',
    state: '"gold";r=9;t=1, "slots";r=2',
  };

  it.each<[change: string, next: LimitStatus[], told: Partial<typeof before>]>([
    ['nothing', [gold, slots], {}],
    ['what is left', [{ ...gold, remaining: 8 }, slots], { state: '"gold";r=8;t=1, "slots";r=2' }],
    ['the last', [gold, { ...slots, remaining: 1 }], { state: '"gold";r=9;t=1, "slots";r=1' }],
    ['the time', [{ ...gold, resetMs: 1_001 }, slots], { state: '"gold";r=9;t=2, "slots";r=2' }],
    [
      'the quota',
      [{ ...gold, quota: 20 }, slots],
      { policy: '"gold";q=20;w=10, "slots";q=3;qu="concurrent-requests"' },
    ],
    [
      'the length',
      [{ ...gold, windowMs: 20_000 }, slots],
      { policy: '"gold";q=10;w=20, "slots";q=3;qu="concurrent-requests"' },
    ],
    [
      'the name',
      [{ ...gold, plan: 'or' }, slots],
      {
        policy: '"or";q=10;w=10, "slots";q=3;qu="concurrent-requests"',
        state: '"or";r=9;t=1, "slots";r=2',
      },
    ],
    [
      'the kind',
      [{ ...gold, kind: 'concurrency' }, slots],
      {
        policy: '"gold";q=10;qu="concurrent-requests", "slots";q=3;qu="concurrent-requests"',
        state: '"gold";r=9, "slots";r=2',
      },
    ],
    [
      'the order',
      [slots, gold],
      {
        policy: '"slots";q=3;qu="concurrent-requests", "gold";q=10;w=10',
        state: '"slots";r=2, "gold";r=9;t=1',
      },
    ],
    [
      'that the first is a shadow',
      [{ ...gold, shadow: true }, slots],
      { policy: '"slots";q=3;qu="concurrent-requests"', state: '"slots";r=2' },
    ],
    ['that the last is gone', [gold], { policy: '"gold";q=10;w=10', state: '"gold";r=9;t=1' }],
    ['that all are gone', [], { policy: '', state: '' }],
  ])('notices %s, and the way back', (_, next, told) => {
    const memo = new HeaderMemo();
    expect(memo.textsFor([gold, slots])).toEqual(before);
    expect(memo.textsFor(next)).toEqual({ ...before, ...told });
    expect(memo.textsFor(next)).toEqual({ ...before, ...told });
    expect(memo.textsFor([gold, slots])).toEqual(before);
  });
});
