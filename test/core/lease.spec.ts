import { describe, expect, it } from '@jest/globals';
import { InMemoryPlanRegistry } from '../../lib/core/in-memory-plan-registry.js';
import type { HeldSlots, LeaseKeeper } from '../../lib/core/held-slots.js';
import { RateLimiter } from '../../lib/core/rate-limiter.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { FakeClock } from '../support/fake-clock.js';

/** Remembers what it is asked to keep alive. */
class FakeKeeper implements LeaseKeeper {
  readonly kept = new Set<HeldSlots>();
  readonly limited: [HeldSlots, number][] = [];

  hold(slots: HeldSlots): void {
    this.kept.add(slots);
  }

  drop(slots: HeldSlots): void {
    this.kept.delete(slots);
  }

  limitHold(slots: HeldSlots, inMs: number): void {
    this.limited.push([slots, inMs]);
  }
}

function createLimiter() {
  const clock = new FakeClock();
  const keeper = new FakeKeeper();
  let leases = 0;
  const limiter = new RateLimiter({
    registry: new InMemoryPlanRegistry({
      slots: { maxConcurrent: 1, leaseMs: 1_000 },
      longSlots: { maxConcurrent: 1, leaseMs: 60_000 },
      gold: '5/s',
      brief: { maxConcurrent: 1, maxHoldMs: 500 },
      briefer: { maxConcurrent: 1, maxHoldMs: 200 },
    }),
    store: new MemoryStore(clock),
    newLeaseId: () => `lease-${leases++}`,
    leaseKeeper: keeper,
  });
  const free = async () => (await limiter.peek('user', 'slots')).remainingTokens;
  return { clock, keeper, limiter, free };
}

describe('a lease', () => {
  it('is a result', async () => {
    const { limiter } = createLimiter();
    expect(await limiter.acquire('user', 'slots')).toMatchObject({
      allowed: true,
      remainingTokens: 0,
      retryAfterMs: 0,
      reason: 'ALLOWED',
      limits: [{ plan: 'slots', kind: 'concurrency' }],
    });
  });

  it('holds its slot until it is released', async () => {
    const { limiter, free } = createLimiter();
    const lease = await limiter.acquire('user', 'slots');
    expect(lease.held).toMatchObject({ leaseId: 'lease-0', limits: [{ key: 'user' }] });
    expect(await free()).toBe(0);
    await lease.release();
    expect(lease.held).toBeUndefined();
    expect(await free()).toBe(1);
  });

  it('may be released any number of times, and frees no slot of another', async () => {
    const { limiter, free } = createLimiter();
    const lease = await limiter.acquire('user', 'slots');
    await Promise.all([lease.release(), lease.release()]);
    await limiter.acquire('user', 'slots');
    await lease.release();
    expect(await free()).toBe(0);
  });

  it('frees no slot of another when it is released after its end', async () => {
    const { clock, limiter, free } = createLimiter();
    const late = await limiter.acquire('user', 'slots');
    clock.advanceMs(1_000);
    expect((await limiter.acquire('user', 'slots')).allowed).toBe(true);
    await late.release();
    expect(await free()).toBe(0);
  });

  it('is released by its disposal', async () => {
    const { limiter, free } = createLimiter();
    const lease = await limiter.acquire('user', 'slots');
    expect(await free()).toBe(0);
    await lease[Symbol.asyncDispose]();
    await lease[Symbol.asyncDispose]();
    expect(await free()).toBe(1);
  });

  it('is prolonged by renewing it', async () => {
    const { clock, limiter, free } = createLimiter();
    const lease = await limiter.acquire('user', 'slots');
    clock.advanceMs(999);
    expect(await lease.renew()).toBe(true);
    clock.advanceMs(999);
    expect(await free()).toBe(0);
    clock.advanceMs(1);
    expect(await free()).toBe(1);
  });

  it('is lost when it is renewed too late', async () => {
    const { clock, keeper, limiter, free } = createLimiter();
    const lease = await limiter.acquire('user', 'slots');
    clock.advanceMs(1_000);
    expect(await lease.renew()).toBe(false);
    expect(lease.held).toBeUndefined();
    expect(keeper.kept.size).toBe(0);
    await limiter.acquire('user', 'slots');
    await lease.release();
    expect(await free()).toBe(0);
  });

  it('gives back the slots that are left when it is renewed too late for one of them', async () => {
    const { clock, keeper, limiter } = createLimiter();
    const lease = await limiter.acquire('user', ['slots', 'longSlots']);
    clock.advanceMs(1_000);
    expect(await lease.renew()).toBe(false);
    expect(lease.held).toBeUndefined();
    expect(keeper.kept.size).toBe(0);
    expect((await limiter.peek('user', 'longSlots')).remainingTokens).toBe(1);
  });

  it('is not renewed after it was released', async () => {
    const { limiter, free } = createLimiter();
    const lease = await limiter.acquire('user', 'slots');
    await lease.release();
    expect(await lease.renew()).toBe(false);
    expect(await free()).toBe(1);
  });

  it('holds nothing when it was refused', async () => {
    const { limiter, keeper, free } = createLimiter();
    const holder = await limiter.acquire('user', 'slots');
    const refused = await limiter.acquire('user', 'slots');
    expect(refused).toMatchObject({ allowed: false, held: undefined });
    expect(await refused.renew()).toBe(false);
    await refused.release();
    expect(await free()).toBe(0);
    expect([...keeper.kept]).toEqual([holder.slots]);
  });

  it('is kept alive from when it is lent until it is let go', async () => {
    const { limiter, keeper } = createLimiter();
    const lease = await limiter.acquire('user', 'slots');
    expect([...keeper.kept]).toEqual([lease.slots]);
    await lease.release();
    expect(keeper.kept.size).toBe(0);
  });

  it('is not kept alive when it holds nothing', async () => {
    const { limiter, keeper } = createLimiter();
    const lease = await limiter.acquire('user', 'gold');
    expect(lease).toMatchObject({ allowed: true, held: undefined });
    expect(keeper.kept.size).toBe(0);
  });

  it('hands over what it held when it is let go, without giving it back', async () => {
    const { limiter, keeper, free } = createLimiter();
    const lease = await limiter.acquire('user', 'slots');
    expect(lease.letGo()).toMatchObject({ leaseId: 'lease-0' });
    expect(lease.letGo()).toBeUndefined();
    expect(keeper.kept.size).toBe(0);
    expect(await free()).toBe(0);
  });

  it.each([
    [['slots'], []],
    [['brief'], [500]],
    [['brief', 'slots', 'briefer', 'gold'], [200]],
  ])('of %j may be held for %j', async (plans, expected) => {
    const { limiter, keeper } = createLimiter();
    const lease = await limiter.acquire('user', plans);
    expect(keeper.limited).toEqual(expected.map((ms) => [lease.slots, ms]));
  });

  it('that was booked ahead may be held as long from when its turn comes', async () => {
    const { limiter, keeper } = createLimiter();
    await limiter.allow('user', 'gold', 5);
    const booked = await limiter.reserve('user', ['gold', 'brief'], { maxWaitMs: 1_000 });
    expect(booked.waitMs).toBe(200);
    expect(keeper.limited).toEqual([[booked.slots, 700]]);
  });
});
