import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { OutboundDeniedError } from '../../lib/outbound/outbound-errors.js';
import type { DomainRule } from '../../lib/outbound/outbound-rules.js';
import { OutboundRules } from '../../lib/outbound/outbound-rules.js';
import type { Permit } from '../../lib/outbound/permit.js';
import type { WaitOptions } from '../../lib/outbound/wait-options.js';
import type { Distances } from '../support/distant-store.js';
import { DistantStore } from '../support/distant-store.js';
import { FakeTicker } from '../support/fake-ticker.js';
import { RacingTicker } from '../support/racing-ticker.js';
import { OutboundStage } from '../support/outbound-stage.js';

const SITE = 'site.example';
const NEAR: Distances = { thereMs: () => 0, backMs: () => 0, newsMs: () => 0 };

describe('the turns of a domain', () => {
  let ticker: FakeTicker;
  let store: MemoryStore;
  let startMs: number;
  let gone: string[];

  beforeEach(() => {
    ticker = new FakeTicker();
    store = new MemoryStore(ticker.clock);
    startMs = ticker.nowMs();
    gone = [];
  });

  /** A process, near the store it shares with the others unless it is told otherwise. */
  function start(rule: DomainRule, distances?: Distances) {
    const distant = distances && new DistantStore(store, ticker, distances);
    const stage = new OutboundStage({
      ...{ ticker, store: distant ?? store, default: rule },
      throttle: { minCooldownMs: 1_000, maxCooldownMs: 1_000 },
    });
    return { ...stage, distant };
  }

  type Process = ReturnType<typeof start>;

  function wait({ limiter }: Process, name: string, options: WaitOptions = {}): Promise<Permit> {
    const waiting = limiter.wait(SITE, options);
    const note = (what: string) =>
      gone.push(`${name} ${Math.round(ticker.nowMs() - startMs)}${what}`);
    waiting.then(
      ({ isProbe }) => note(isProbe ? ' probe' : ''),
      (error: Error) => note(` ${error.name}`),
    );
    return waiting;
  }

  function waitOn(process: Process, name: string, options: WaitOptions = {}): void {
    wait(process, name, options).catch(() => undefined);
  }

  /** Waits, and tells that all is well when it is the one that tries, after a while. */
  function callOn(process: Process, name: string, tryMs = 0): void {
    const call = async () => {
      const permit = await wait(process, name);
      if (tryMs > 0) await new Promise<void>((resolve) => ticker.wakeIn(tryMs, resolve));
      if (permit.isProbe) await process.throttler.recordSuccess(SITE, { permit });
      await permit.release();
    };
    call().catch(() => undefined);
  }

  async function block({ throttler }: Process): Promise<void> {
    for (let i = 0; i < 3; i++) await throttler.recordBlock(SITE, 'rate_limited');
  }

  it('are not owed any more when a cooldown has made them void', async () => {
    const process = start({ requestsPerSecond: 10, burstCapacity: 2 });
    for (let i = 0; i < 100; i++) callOn(process, `${i}`);
    await ticker.advance(150);
    await block(process);
    await ticker.advance(1_500);
    expect(gone).toEqual([
      '0 0',
      '1 0',
      '2 100',
      '3 1150 probe',
      '4 1250',
      '5 1350',
      '6 1450',
      '7 1550',
      '8 1650',
    ]);
  });

  it('let go of their slots when they become void', async () => {
    const rule = { requestsPerSecond: 1, burstCapacity: 1, maxConcurrent: 3 };
    const process = start(rule);
    for (let i = 0; i < 4; i++) callOn(process, `${i}`);
    await ticker.advance(100);
    const faster = { ...rule, requestsPerSecond: 2 };
    await process.book.changeRules(new OutboundRules({ default: faster }));
    await ticker.advance(5_000);
    expect(gone).toHaveLength(4);
  });

  it('are refused to those who wait when the domain is switched off', async () => {
    const rule = { requestsPerSecond: 1, burstCapacity: 1 };
    const process = start(rule);
    callOn(process, 'first');
    const waiting = wait(process, 'second');
    await ticker.advance(100);
    const off = { ...rule, maxConcurrent: 0 };
    await process.book.changeRules(new OutboundRules({ default: off }));
    await expect(waiting).rejects.toThrow(OutboundDeniedError);
    expect(ticker.timers).toBe(0);
  });

  it('are not waited for when the last one has left', async () => {
    const process = start({ requestsPerSecond: 1, burstCapacity: 1 });
    await block(process);
    const aborting = new AbortController();
    waitOn(process, 'leaving', { signal: aborting.signal });
    await ticker.advance(10);
    aborting.abort();
    await ticker.advance(0);
    expect(ticker.timers).toBe(0);
  });

  it('are waited for longer than a day by whoever has the time', async () => {
    const process = start({ requestsPerSecond: 0.000_01, burstCapacity: 1 });
    waitOn(process, 'first');
    waitOn(process, 'second');
    await ticker.advance(100_000_000);
    expect(gone).toEqual(['first 0', 'second 100000000']);
  });

  it('go to nobody who costs more', async () => {
    const slow = { ...NEAR, backMs: () => 20 };
    const process = start({ requestsPerSecond: 10, burstCapacity: 5 }, slow);
    const aborting = new AbortController();
    waitOn(process, 'all', { tokens: 5 });
    await ticker.advance(30);
    waitOn(process, 'leaving', { signal: aborting.signal });
    waitOn(process, 'five', { tokens: 5 });
    await ticker.advance(80);
    // Somebody comes right now, so that what to give back is not known before the turn is due.
    waitOn(process, 'late');
    aborting.abort();
    await ticker.advance(2_000);
    const five = gone.find((line) => line.startsWith('five '))!;
    expect(Number(five.split(' ')[1])).toBeGreaterThanOrEqual(500);
  });

  it('booked before news could be heard are looked at before they are used', async () => {
    const rule = { requestsPerSecond: 10, burstCapacity: 1 };
    const [deaf, other] = [start(rule, NEAR), start(rule)];
    deaf.distant!.isDeaf = true;
    for (let i = 0; i < 20; i++) callOn(deaf, `${i}`);
    await ticker.advance(10);
    await block(other);
    deaf.distant!.isDeaf = false;
    await ticker.advance(900);
    expect(gone).toEqual(['0 0']);
  });

  it('are not used by those who cannot hear that they are void', async () => {
    const rule = { requestsPerSecond: 100, burstCapacity: 1 };
    const [deaf, other] = [start(rule, NEAR), start(rule)];
    for (let i = 0; i < 50; i++) callOn(deaf, `deaf-${i}`);
    await ticker.advance(5);
    for (let i = 0; i < 50; i++) callOn(other, `other-${i}`);
    deaf.distant!.isDeaf = true;
    await ticker.advance(15);
    const same = { requestsPerSecond: 100, burstCapacity: 2 };
    await other.book.changeRules(new OutboundRules({ default: same }));
    await ticker.advance(480);
    // Fifty in half a second, the burst, and what is not worth asking for.
    expect(gone.length).toBeLessThanOrEqual(50 + 2 + 10);
  });

  it('come when a domain recovers, also to those who hear of it before they are refused', async () => {
    const rule = { requestsPerSecond: 10, burstCapacity: 2 };
    const [near, far] = [start(rule), start(rule, { ...NEAR, backMs: () => 30 })];
    for (let i = 0; i < 5; i++) callOn(far, `far-${i}`);
    await ticker.advance(150);
    await block(near);
    gone = [];
    callOn(near, 'near', 10);
    await ticker.advance(1_500);
    expect(gone[0]).toBe('near 1150 probe');
    expect(gone[1]).toMatch(/^far-3 12\d\d$/);
  });

  it('are asked for again, however the time passes while it is looked at', async () => {
    const rule = { requestsPerSecond: 1_000, burstCapacity: 10, maxConcurrent: 1 };
    const racing = new RacingTicker();
    const process = new OutboundStage({
      ...{ ticker: racing, store: new MemoryStore(racing.clock), default: rule },
    });
    const holder = await process.limiter.wait(SITE);
    const waiting = process.limiter.wait(SITE);
    let isThrough = false;
    waiting.then(() => (isThrough = true)).catch(() => undefined);
    for (let i = 0; i < 100; i++) {
      await racing.advance(100);
      expect(racing.timers).toBe(1);
    }
    await holder.release();
    await racing.advance(200);
    expect(isThrough).toBe(true);
  });

  it('are given back once, however often the plan changes', async () => {
    const rule = { requestsPerSecond: 10, burstCapacity: 5 };
    const [near, far] = [start(rule), start(rule, { ...NEAR, thereMs: () => 20 })];
    const aborting = new AbortController();
    for (let i = 0; i < 30; i++) waitOn(far, `far-${i}`, { signal: aborting.signal });
    await ticker.advance(100);
    aborting.abort();
    await ticker.advance(1);
    // While they are on their way back.
    await near.book.changeRules(new OutboundRules({ default: { ...rule, burstCapacity: 6 } }));
    callOn(near, 'plan');
    const again = { ...rule, burstCapacity: 5 };
    await near.book.changeRules(new OutboundRules({ default: again }));
    await ticker.advance(100);
    gone = [];
    for (let i = 0; i < 10; i++) callOn(near, `${i}`);
    await ticker.advance(0);
    expect(gone.length).toBeLessThanOrEqual(1);
  });

  it.each([
    { what: 'a cooldown', count: 1_000, slots: -1 },
    { what: 'slots', count: 1_000, slots: 2 },
  ])(
    'cost no more than three questions each while $count wait for $what',
    async ({ what, count, slots }) => {
      const rule = { requestsPerSecond: 1e6, burstCapacity: 1_000, maxConcurrent: slots };
      const process = start(rule);
      if (what === 'a cooldown') await block(process);
      const asked = jest.spyOn(store, 'decide');
      for (let i = 0; i < count; i++) callOn(process, `${i}`);
      await ticker.advance(10_000);
      expect(gone).toHaveLength(count);
      expect(asked.mock.calls.length).toBeLessThanOrEqual(3 * count);
    },
    60_000,
  );
});
