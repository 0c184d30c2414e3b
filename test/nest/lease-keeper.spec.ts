import 'reflect-metadata';
import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { definePlan } from '../../lib/core/define-plan.js';
import type { HeldLease, Limit, Return } from '../../lib/core/limit-store.js';
import { Lease } from '../../lib/core/lease.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import type { Diagnostics } from '../../lib/nest/diagnostics.js';
import { TimedLeaseKeeper } from '../../lib/nest/lease-keeper.js';
import { FakeClock } from '../support/fake-clock.js';

/** Takes down which leases it is to renew. */
class RenewingStore extends MemoryStore {
  readonly renewed: string[][] = [];
  readonly released: string[] = [];
  onRenew: () => void = () => {};

  override renew(leases: readonly HeldLease[]): boolean[] {
    this.renewed.push(leases.map(({ leaseId }) => leaseId));
    this.onRenew();
    return super.renew(leases);
  }

  override giveBack(returned: Return): boolean {
    if (returned.kind === 'release') this.released.push(returned.leaseId);
    return super.giveBack(returned);
  }
}

let clock: FakeClock;
let store: RenewingStore;
let keeper: TimedLeaseKeeper;
/** What was warned of. */
let warned: string[];

beforeEach(() => {
  clock = new FakeClock();
  store = new RenewingStore(clock);
  warned = [];
  const warn = (code: string, place: string) => void warned.push(`${code} ${place}`);
  keeper = new TimedLeaseKeeper(store, { warn } as unknown as Diagnostics);
});

afterEach(async () => {
  await keeper.onApplicationShutdown();
  jest.useRealTimers();
});

/** Takes a slot under that id. */
function hold(leaseId: string, leaseMs = 30_000): Lease {
  const plan = definePlan('slots', { maxConcurrent: 10, leaseMs });
  const limits: Limit[] = [{ plan, key: 'user', cost: 1 }];
  const decision = store.decide({ limits, mode: 'take', maxWaitUs: 0, leaseId });
  return new Lease(decision, { leaseId, limits }, { store, keeper });
}

async function pass(ms: number): Promise<void> {
  clock.advanceMs(ms);
  await jest.advanceTimersByTimeAsync(ms);
}

describe('leases that are held', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });

  it('are renewed three times in their length, all together', async () => {
    hold('a');
    hold('b');
    expect(jest.getTimerCount()).toBe(1);
    await pass(9_999);
    expect(store.renewed).toEqual([]);
    await pass(1);
    expect(store.renewed).toEqual([['a', 'b']]);
    await pass(20_000);
    expect(store.renewed).toHaveLength(3);
  });

  it('outlive their length', async () => {
    const lease = hold('a');
    for (let i = 0; i < 10; i++) await pass(10_000);
    expect(lease.held).toBeDefined();
    expect(await lease.renew()).toBe(true);
  });

  it('are no longer renewed once they are released', async () => {
    const a = hold('a');
    hold('b');
    await a.release();
    await pass(10_000);
    expect(store.renewed).toEqual([['b']]);
  });

  it('set the pace by the shortest of them', async () => {
    hold('long', 30_000);
    hold('short', 3_000);
    expect(jest.getTimerCount()).toBe(1);
    await pass(1_000);
    expect(store.renewed).toEqual([['long', 'short']]);
  });

  it('set the pace anew when none was left', async () => {
    await hold('short', 3_000).release();
    await pass(1_000);
    expect(jest.getTimerCount()).toBe(0);
    hold('long', 30_000);
    await pass(9_999);
    expect(store.renewed).toEqual([]);
    await pass(1);
    expect(store.renewed).toEqual([['long']]);
  });

  it('may be shorter than a timer can tell', async () => {
    hold('a', 1);
    await jest.advanceTimersByTimeAsync(1);
    expect(store.renewed).toEqual([['a']]);
  });

  it('may be longer than a timer can run', async () => {
    hold('a', 3_650 * 86_400_000);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(store.renewed).toEqual([]);
    await jest.advanceTimersByTimeAsync(2 ** 31);
    expect(store.renewed).toEqual([['a']]);
  });

  it('are forgotten when the store has lost them', async () => {
    const lost = hold('a');
    const kept = hold('b');
    store.giveBack({ kind: 'release', ...lost.held! });
    await pass(10_000);
    expect(lost.held).toBeUndefined();
    expect(kept.held).toBeDefined();
    await pass(10_000);
    expect(store.renewed).toEqual([['a', 'b'], ['b']]);
  });

  it('leave no timer when the last of them is lost', async () => {
    const lost = hold('a');
    store.giveBack({ kind: 'release', ...lost.held! });
    await pass(20_000);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('leave no timer when they are released', async () => {
    const [a, b] = [hold('a'), hold('b')];
    await a.release();
    expect(jest.getTimerCount()).toBe(1);
    await b.release();
    await pass(10_000);
    expect(jest.getTimerCount()).toBe(0);
    await b.release();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('share one timer when they follow each other', async () => {
    const started = jest.spyOn(globalThis, 'setInterval');
    for (let i = 0; i < 20; i++) await hold(`lease-${i}`).release();
    expect(started).toHaveBeenCalledTimes(1);
    started.mockRestore();
  });

  it('leave no timer when the application shuts down', async () => {
    hold('a');
    await keeper.onApplicationShutdown();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('are tried again when the store fails', async () => {
    const warnings: string[] = [];
    Logger.overrideLogger({
      log: () => {},
      error: () => {},
      warn: (message: string) => warnings.push(message),
    });
    const lease = hold('a');
    store.onRenew = () => {
      throw new Error('store away');
    };
    await pass(10_000);
    store.onRenew = () => {};
    await pass(10_000);
    expect(warnings).toEqual(['Leases could not be renewed: store away']);
    expect(store.renewed).toEqual([['a'], ['a']]);
    expect(lease.held).toBeDefined();
  });
});

describe('leases that may be held for a time', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });

  /** Takes a slot that may be held so long. */
  function holdFor(leaseId: string, maxHoldMs: number): Lease {
    const plan = definePlan('brief', { maxConcurrent: 100, maxHoldMs });
    const limits: Limit[] = [{ plan, key: 'user', cost: 1 }];
    const decision = store.decide({ limits, mode: 'take', maxWaitUs: 0, leaseId });
    const lease = new Lease(decision, { leaseId, limits }, { store, keeper });
    lease.lentTo(`Handler.${leaseId}`);
    return lease;
  }

  const timers = () => jest.getTimerCount();

  it('are given back after it, with a warning, and not renewed any more', async () => {
    const lease = holdFor('a', 45_000);
    await pass(44_999);
    expect(lease.held).toBeDefined();
    expect(store.renewed).toEqual([['a'], ['a']]);
    expect(store.released).toEqual([]);
    await pass(1);
    expect(lease.held).toBeUndefined();
    expect(store.released).toEqual(['a']);
    expect(warned).toEqual(['SLOT_HELD_TOO_LONG Handler.a, plan "brief"']);
    await pass(60_000);
    expect(store.renewed).toEqual([['a'], ['a']]);
    expect(timers()).toBe(0);
  });

  it('are given back once, whatever is released later', async () => {
    const lease = holdFor('a', 10);
    await pass(10);
    await Promise.all([lease.release(), lease.release()]);
    expect(await lease.renew()).toBe(false);
    expect(lease.letGo()).toBeUndefined();
    expect(store.released).toEqual(['a']);
  });

  it('are given back in the order in which they are due, by one timer', async () => {
    const leases = [300, 100, 200, 100].map((ms, i) => holdFor(`${i}`, ms));
    expect(timers()).toBe(2);
    await pass(99);
    await leases[3]!.release();
    expect(store.released).toEqual(['3']);
    await pass(1);
    expect(store.released).toEqual(['3', '1']);
    expect(timers()).toBe(2);
    await pass(100);
    expect(store.released).toEqual(['3', '1', '2']);
    await pass(100);
    expect(store.released).toEqual(['3', '1', '2', '0']);
    expect(warned).toHaveLength(3);
  });

  it('share one timer when they follow each other', async () => {
    const started = jest.spyOn(globalThis, 'setTimeout');
    for (let i = 0; i < 50; i++) await holdFor(`${i}`, 1_000).release();
    expect(started).toHaveBeenCalledTimes(1);
    started.mockRestore();
    await pass(60_000);
    expect(timers()).toBe(0);
    expect(warned).toEqual([]);
  });

  it('may be held longer than a timer can run', async () => {
    const month = 31 * 86_400_000;
    const lease = holdFor('a', month);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(lease.held).toBeDefined();
    clock.advanceMs(month);
    await jest.advanceTimersByTimeAsync(2 ** 31);
    expect(store.released).toEqual(['a']);
  });

  it('leave no timer when the application shuts down', async () => {
    holdFor('a', 10_000);
    await keeper.onApplicationShutdown();
    expect(timers()).toBe(0);
    expect([store.released, warned]).toEqual([['a'], []]);
  });
});

describe('the timer', () => {
  it('does not keep the storage of the request that started it', async () => {
    const requests = new AsyncLocalStorage<string>();
    const seen = new Promise<unknown>((resolve) => {
      store.onRenew = () => resolve(requests.getStore() ?? 'nothing');
    });
    const lease = requests.run('request', () => hold('a', 30));
    expect(await seen).toBe('nothing');
    await lease.release();
  });

  it('does not keep the process alive', () => {
    const timers: NodeJS.Timeout[] = [];
    const setInterval = globalThis.setInterval;
    const spy = jest.spyOn(globalThis, 'setInterval').mockImplementation(((
      callback: () => void,
      ms: number,
    ) => {
      const timer = setInterval(callback, ms);
      timers.push(timer);
      return timer;
    }) as typeof globalThis.setInterval);
    hold('a');
    spy.mockRestore();
    expect(timers.map((timer) => timer.hasRef())).toEqual([false]);
  });
});
