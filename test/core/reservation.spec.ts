import { describe, expect, it } from '@jest/globals';
import { InMemoryPlanRegistry } from '../../lib/core/in-memory-plan-registry.js';
import type { HeldSlots, LeaseKeeper } from '../../lib/core/held-slots.js';
import { RateLimiter } from '../../lib/core/rate-limiter.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { FakeClock } from '../support/fake-clock.js';

function createLimiter() {
  const clock = new FakeClock();
  const kept = new Set<HeldSlots>();
  const leaseKeeper: LeaseKeeper = {
    hold: (slots) => kept.add(slots),
    drop: (slots) => kept.delete(slots),
    limitHold: () => undefined,
  };
  let leases = 0;
  const limiter = new RateLimiter({
    registry: new InMemoryPlanRegistry({
      bucket: { capacity: 5, tokensPerSecond: 10 },
      odd: { capacity: 1, tokensPerSecond: 3 },
      window: { limit: 3, windowMs: 1_000 },
      slots: { maxConcurrent: 1, leaseMs: 1_000 },
    }),
    store: new MemoryStore(clock),
    newLeaseId: () => `lease-${leases++}`,
    leaseKeeper,
  });
  const book = (plans: string | string[], tokens = 1, maxWaitMs = 60_000) =>
    limiter.reserve('user', plans, { maxWaitMs, tokens });
  const remaining = async (plan: string) => (await limiter.peek('user', plan)).remainingTokens;
  return { clock, kept, limiter, book, remaining };
}

describe('a reservation', () => {
  it('is a result that tells when its turn comes', async () => {
    const { book } = createLimiter();
    expect(await book('bucket', 5)).toMatchObject({ allowed: true, reason: 'ALLOWED', waitMs: 0 });
    expect(await book('bucket', 2)).toMatchObject({ allowed: true, retryAfterMs: 0, waitMs: 200 });
  });

  it('rounds its wait up, so that nobody is early', async () => {
    const { book } = createLimiter();
    await book('odd');
    expect((await book('odd')).waitMs).toBe(334);
    expect((await book('odd')).waitMs).toBe(667);
  });

  it('has no turn when it was refused, and gives nothing back', async () => {
    const { limiter, book, remaining } = createLimiter();
    await limiter.allow('user', 'bucket', 3);
    const refused = await book('bucket', 5, 0);
    expect(refused).toMatchObject({ allowed: false, waitMs: 0, retryAfterMs: 300 });
    await refused.cancel();
    expect(await remaining('bucket')).toBe(2);
  });

  it('gives its turn back once', async () => {
    const { limiter, book, remaining } = createLimiter();
    await limiter.allow('user', 'bucket');
    const turn = await book('bucket', 2);
    await turn.cancel();
    expect(await remaining('bucket')).toBe(4);
    await turn.cancel();
    await Promise.all([turn.cancel(), turn.cancel()]);
    expect(await remaining('bucket')).toBe(4);
  });

  it('lets the next in the queue come forward when it was the last', async () => {
    const { book } = createLimiter();
    await book('bucket', 5);
    await book('bucket', 2);
    const last = await book('bucket', 3);
    expect(last.waitMs).toBe(500);
    await last.cancel();
    expect((await book('bucket')).waitMs).toBe(300);
  });

  it('leaves those behind where they are when it was not', async () => {
    const { book } = createLimiter();
    await book('bucket', 5);
    const first = await book('bucket', 2);
    await book('bucket', 2);
    await first.cancel();
    expect((await book('bucket')).waitMs).toBe(500);
  });

  it('gives back slots and windows with its turn', async () => {
    const { kept, book, remaining } = createLimiter();
    await book('bucket', 5);
    const turn = await book(['bucket', 'window', 'slots'], 2);
    expect([await remaining('window'), await remaining('slots')]).toEqual([1, 0]);
    expect([...kept]).toEqual([turn.slots]);
    await turn.cancel();
    expect([await remaining('window'), await remaining('slots')]).toEqual([3, 1]);
    expect(kept.size).toBe(0);
    expect(turn.held).toBeUndefined();
  });

  it('frees no slot of another when it is released after it was cancelled', async () => {
    const { limiter, book, remaining } = createLimiter();
    const turn = await book(['bucket', 'slots']);
    await turn.cancel();
    await limiter.acquire('user', 'slots');
    await turn.release();
    await turn[Symbol.asyncDispose]();
    expect(await remaining('slots')).toBe(0);
  });

  it('gives back its slot and keeps its tokens when it is released', async () => {
    const { book, remaining } = createLimiter();
    const turn = await book(['bucket', 'slots'], 2);
    await turn.release();
    expect([await remaining('bucket'), await remaining('slots')]).toEqual([3, 1]);
  });

  it('is prolonged from the moment at which it is renewed', async () => {
    const { clock, book, remaining } = createLimiter();
    await book('bucket', 5);
    const turn = await book(['bucket', 'slots'], 5);
    expect(turn.waitMs).toBe(500);
    clock.advanceMs(1_499);
    expect(await turn.renew()).toBe(true);
    clock.advanceMs(999);
    expect(await remaining('slots')).toBe(0);
    clock.advanceMs(1);
    expect(await remaining('slots')).toBe(1);
  });
});
