import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { WaitTimedOutError } from '../../lib/outbound/outbound-errors.js';
import type { DomainRule } from '../../lib/outbound/outbound-rules.js';
import { OutboundRules } from '../../lib/outbound/outbound-rules.js';
import type { Permit } from '../../lib/outbound/permit.js';
import type { WaitOptions } from '../../lib/outbound/wait-options.js';
import { DistantStore } from '../support/distant-store.js';
import { FakeTicker } from '../support/fake-ticker.js';
import { OutboundStage } from '../support/outbound-stage.js';
import type { Outcome } from './processes/outcome.js';
import { overshootOf } from './processes/outcome.js';

/** Raise it to search longer: FAST_CHECK_RUNS=5000 npm test -- test/outbound/timeouts */
const RUNS = Number(process.env.FAST_CHECK_RUNS ?? 150);
const SITE = 'site.example';
const COOLDOWN_MS = 300;
/** Timers count in whole milliseconds. */
const TIMER_MS = 1;
/** Turns due so soon stay when a plan of turns changes. */
const GRACE_MS = 50;

/** One wait, and what became of it. */
interface Wait {
  readonly index: number;
  readonly arrivedMs: number;
  readonly timeoutMs: number;
  readonly tokens: number;
  readonly aborting: AbortController;
  endedMs?: number;
  permit?: Permit;
  error?: Error;
}

/** A process whose every wait is noted. */
class Process {
  readonly ticker = new FakeTicker();
  readonly waits: Wait[] = [];
  readonly stage: OutboundStage;

  constructor(rule: DomainRule, delayMs?: () => number) {
    const { ticker } = this;
    const near = new MemoryStore(ticker.clock);
    const store = delayMs
      ? new DistantStore(near, ticker, { thereMs: delayMs, backMs: delayMs, newsMs: delayMs })
      : near;
    const throttle = { minCooldownMs: COOLDOWN_MS, maxCooldownMs: COOLDOWN_MS };
    this.stage = new OutboundStage({ ticker, store, default: rule, throttle });
  }

  get inLine(): Wait[] {
    return this.waits.filter(({ endedMs }) => endedMs === undefined);
  }

  get permits(): Wait[] {
    return this.waits.filter(({ permit }) => permit !== undefined);
  }

  start(timeoutMs = Number.POSITIVE_INFINITY, holdMs = 0, options: WaitOptions = {}): Wait {
    const [aborting, arrivedMs] = [new AbortController(), this.ticker.nowMs()];
    const { tokens = 1 } = options;
    const wait: Wait = { index: this.waits.length, arrivedMs, timeoutMs, tokens, aborting };
    this.waits.push(wait);
    this.stage.limiter.wait(SITE, { ...options, timeoutMs, signal: aborting.signal }).then(
      (permit) => {
        Object.assign(wait, { permit, endedMs: this.ticker.nowMs() });
        void this.#use(permit, holdMs);
      },
      (error: Error) => void Object.assign(wait, { error, endedMs: this.ticker.nowMs() }),
    );
    return wait;
  }

  /** The event loop is kept from running for so long. */
  lag(milliseconds: number): void {
    this.ticker.clock.advanceMs(milliseconds);
  }

  async #use(permit: Permit, holdMs: number): Promise<void> {
    if (permit.isProbe) await this.stage.throttler.recordSuccess(SITE, { permit });
    if (holdMs > 0) await new Promise<void>((resolve) => this.ticker.wakeIn(holdMs, resolve));
    await permit.release();
  }
}

const timeouts = fc.oneof(
  fc.constant(Number.POSITIVE_INFINITY),
  fc.integer({ min: 1, max: 60 }),
  fc.integer({ min: 1, max: 2_000 }),
);
const pause = { pauseMs: fc.oneof(fc.constant(0), fc.nat(40), fc.nat(400)) };
const arrival = fc.record({
  ...pause,
  what: fc.constant('wait' as const),
  timeoutMs: timeouts,
  costs: fc.constantFrom(1, 1, 1, 2, 5),
});
const abort = fc.record({ ...pause, what: fc.constant('abort' as const), at: fc.nat() });
const trouble = fc.oneof(
  fc.record({ ...pause, what: fc.constant('lag' as const), at: fc.nat(300) }),
  fc.record({ ...pause, what: fc.constantFrom('cooldown' as const, 'rules' as const) }),
);
const rates = fc.record({
  requestsPerSecond: fc.constantFrom(0.5, 3, 10, 200),
  burstCapacity: fc.constantFrom(1, 2, 5),
});

describe('the timeout of a wait', () => {
  const SLOW = { requestsPerSecond: 0.5, burstCapacity: 1 };

  it('is kept by who comes when another one has just left', async () => {
    const process = new Process(SLOW);
    process.start();
    const leaving = process.start();
    await process.ticker.advance(50);
    leaving.aborting.abort();
    const late = process.start(50);
    const patient = process.start(1_950);
    await process.ticker.advance(5_000);
    expect(late.error).toMatchObject({
      code: 'WAIT_TIMED_OUT',
      reason: 'rate',
      retryAfterMs: 1_950,
    });
    expect(late.endedMs! - late.arrivedMs).toBe(0);
    expect(patient.endedMs! - patient.arrivedMs).toBe(1_950);
  });

  it('is kept while the store does not answer', async () => {
    const process = new Process(SLOW, () => 300);
    const [late, next] = [process.start(100), process.start()];
    await process.ticker.advance(5_000);
    expect(late.error).toMatchObject({ code: 'WAIT_TIMED_OUT', reason: 'lag' });
    expect(late.error).toHaveProperty('retryAfterMs', undefined);
    expect(late.endedMs! - late.arrivedMs).toBe(100);
    // What was booked for the one who has gone.
    expect(next.endedMs! - next.arrivedMs).toBe(600);
  });

  it('is kept when the answer leaves too little time', async () => {
    const process = new Process(SLOW, () => 100);
    process.start();
    await process.ticker.advance(1_000);
    const late = process.start(1_150);
    await process.ticker.advance(5_000);
    expect(late.error).toMatchObject({ reason: 'lag', retryAfterMs: 1_000 });
    expect(late.endedMs! - late.arrivedMs).toBe(200);
  });

  it('is kept by a process that is late itself, and the next one goes', async () => {
    const process = new Process(SLOW);
    process.start();
    const [late, next] = [process.start(2_001), process.start()];
    await process.ticker.advance(1_000);
    process.lag(1_500);
    await process.ticker.advance(5_000);
    expect(late.error).toMatchObject({ reason: 'lag' });
    expect(next.endedMs! - next.arrivedMs).toBe(2_500);
  });

  it('of nothing takes what there is at once, however far the store is', async () => {
    const process = new Process({ requestsPerSecond: 1, burstCapacity: 3 }, () => 20);
    const waits = Array.from({ length: 5 }, () => process.start(0));
    await process.ticker.advance(200);
    expect(waits.map(({ permit }) => permit !== undefined)).toEqual([
      ...[true, true, true],
      ...[false, false],
    ]);
    expect(waits[3]!.error).toMatchObject({ reason: 'rate', retryAfterMs: 960 });
  });

  it.each([undefined, () => 5])('of nothing does not wait for a slot', async (delayMs) => {
    const rule = { requestsPerSecond: 1_000, burstCapacity: 100, maxConcurrent: 1 };
    const process = new Process(rule, delayMs);
    process.start(undefined, 10_000);
    await process.ticker.advance(50);
    const hasty = [process.start(0), process.start(0)];
    await process.ticker.advance(50);
    for (const { error } of hasty) expect(error).toMatchObject({ reason: 'concurrency' });
  });

  it('tells in how long a slot may be free, by how long slots were held', async () => {
    const rule = { requestsPerSecond: 1_000, burstCapacity: 100, maxConcurrent: 1 };
    const process = new Process(rule);
    process.start(undefined, 400);
    const early = process.start(100);
    await process.ticker.advance(1_000);
    expect(early.error).toMatchObject({ reason: 'concurrency', retryAfterMs: undefined });
    expect(early.error!.message).toBe(
      'All slots of site.example (maxConcurrent) are taken for longer than timeoutMs.',
    );
    process.start(undefined, 400);
    const late = process.start(100);
    await process.ticker.advance(1_000);
    expect(late.error).toMatchObject({ reason: 'concurrency', retryAfterMs: 400 });
  });

  it('is kept by all, in order of arrival and within the rate, whatever happens', async () => {
    const slots = fc.constantFrom(undefined, 1, 3);
    const delays = fc.constantFrom(undefined, 2, 30, 400);
    const events = fc.array(
      fc.oneof({ weight: 6, arbitrary: arrival }, { weight: 2, arbitrary: abort }, trouble),
      { minLength: 5, maxLength: 40 },
    );
    const holds = fc.constantFrom(0, 20, 300);
    const property = fc.asyncProperty(
      ...[rates, slots, delays, holds, fc.boolean(), events],
      async (rate, maxConcurrent, delayMs, holdMs, mixes, happening) => {
        const rule = { ...rate, ...(maxConcurrent && { maxConcurrent }) };
        const process = new Process(rule, delayMs === undefined ? undefined : () => delayMs);
        const { ticker, stage } = process;
        const other = { ...rule, requestsPerSecond: 5 };
        let changes = 0;
        let lagMs = 0;
        for (const one of happening) {
          await ticker.advance(one.pauseMs);
          if (one.what === 'wait') {
            const tokens = Math.min(one.costs, mixes ? rule.burstCapacity : 1);
            process.start(one.timeoutMs, holdMs, { tokens });
          } else if (one.what === 'lag') {
            process.lag(one.at);
            lagMs += one.at;
          } else if (one.what === 'abort') {
            process.inLine[one.at % process.inLine.length]?.aborting.abort();
          } else if (one.what === 'rules') {
            const next = changes++ % 2 === 0 ? other : rule;
            void stage.book.changeRules(new OutboundRules({ default: next }));
          } else {
            changes++;
            for (let i = 0; i < 3; i++) void stage.throttler.recordBlock(SITE, 'captcha');
          }
        }
        await ticker.advance(600_000);
        expect(process.inLine).toEqual([]);
        for (const { arrivedMs, endedMs, timeoutMs, permit } of process.waits) {
          if (permit) expect(endedMs! - arrivedMs).toBeLessThanOrEqual(timeoutMs);
        }
        const order = [...process.permits].sort((a, b) => a.endedMs! - b.endedMs!);
        expect(order.map(({ index }) => index)).toEqual(process.permits.map(({ index }) => index));
        const fastest = Math.max(rule.requestsPerSecond, other.requestsPerSecond);
        const permits = order.map((one) => ({ atMs: one.endedMs!, tokens: one.tokens }) as Outcome);
        const excess = overshootOf(permits, { ...rule, requestsPerSecond: fastest });
        // A turn that is used late comes closer to the one behind it.
        const slackMs = 2 * TIMER_MS + lagMs + changes * (GRACE_MS + (delayMs ?? 0));
        // A bucket refills at its new rate from when it was last used.
        const refilled = changes * rule.burstCapacity;
        expect(excess).toBeLessThanOrEqual(1e-3 + refilled + (fastest * slackMs) / 1_000);
      },
    );
    await fc.assert(property, { numRuns: RUNS });
  }, 60_000);

  it('refuses nobody who could have had a turn in time', async () => {
    const events = fc.array(fc.oneof({ weight: 4, arbitrary: arrival }, abort), {
      ...{ minLength: 5, maxLength: 50 },
    });
    const property = fc.asyncProperty(rates, events, async (rule, happening) => {
      const process = new Process(rule);
      const { ticker } = process;
      const perMs = rule.requestsPerSecond / 1_000;
      /** What the bucket holds but for those who wait: only who has gone has spent. */
      const levelAt = (atMs: number) => {
        let [level, sinceMs] = [rule.burstCapacity, Number.NEGATIVE_INFINITY];
        for (const { endedMs } of process.permits) {
          level = Math.min(rule.burstCapacity, level + (endedMs! - sinceMs) * perMs) - 1;
          sinceMs = endedMs!;
        }
        return Math.min(rule.burstCapacity, level + (atMs - sinceMs) * perMs);
      };
      for (const one of happening) {
        await ticker.advance(one.pauseMs);
        const { inLine } = process;
        if (one.what === 'abort') inLine[one.at % inLine.length]?.aborting.abort();
        if (one.what !== 'wait') continue;
        const turnMs = (inLine.length + 1 - levelAt(ticker.nowMs())) / perMs;
        const wait = process.start(one.timeoutMs);
        await ticker.advance(0);
        const isRefused = wait.error instanceof WaitTimedOutError;
        // Turns go to timers of whole milliseconds, each of which may be late by one.
        const slackMs = 2 * TIMER_MS;
        if (isRefused) expect(turnMs).toBeGreaterThan(one.timeoutMs - slackMs);
        if (!isRefused) expect(turnMs).toBeLessThanOrEqual(one.timeoutMs + slackMs);
      }
      await ticker.advance(600_000);
      const lag = process.waits.filter(
        ({ error }) => error instanceof WaitTimedOutError && error.reason !== 'rate',
      );
      // Only a turn in the last millisecond can be missed.
      for (const { arrivedMs, endedMs, timeoutMs } of lag) {
        expect(endedMs! - arrivedMs).toBeGreaterThanOrEqual(timeoutMs - TIMER_MS);
      }
      expect(process.inLine).toEqual([]);
    });
    await fc.assert(property, { numRuns: RUNS });
  }, 60_000);
});
