import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Decision, Inquiry } from '../../lib/core/limit-store.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import {
  CostExceedsBurstError,
  OutboundDeniedError,
  WaitAbortedError,
  WaitTimedOutError,
} from '../../lib/outbound/outbound-errors.js';
import { OutboundRules } from '../../lib/outbound/outbound-rules.js';
import type { WaitOptions } from '../../lib/outbound/wait-options.js';
import { FakeTicker } from '../support/fake-ticker.js';
import { OutboundStage } from '../support/outbound-stage.js';

class CountingStore extends MemoryStore {
  asked = 0;

  override decide(inquiry: Inquiry): Decision {
    this.asked++;
    return super.decide(inquiry);
  }
}

/** 10 a second, 2 at once. */
const SITE = 'site.example';

describe('waiting for a domain', () => {
  let ticker: FakeTicker;
  let store: CountingStore;
  let stage: OutboundStage;
  let gone: string[];

  beforeEach(() => {
    ticker = new FakeTicker();
    store = new CountingStore(ticker.clock);
    stage = new OutboundStage({
      ticker,
      store,
      domains: {
        'slots.example': { requestsPerSecond: 1_000, burstCapacity: 100, maxConcurrent: 2 },
        'off.example': { requestsPerSecond: 1, burstCapacity: 1, maxConcurrent: 0 },
      },
    });
    gone = [];
  });

  /** Notes when a wait is over, in tenths of a second from the beginning, or why it failed. */
  function wait(name: string, options: WaitOptions = {}, domain = SITE) {
    const startedMs = ticker.nowMs();
    return stage.limiter.wait(domain, options).then(
      (permit) => {
        gone.push(`${name} ${Math.round(ticker.nowMs() - 1_000_000)}`);
        return permit;
      },
      (error: Error) => {
        gone.push(`${name} ${error.name} ${Math.round(ticker.nowMs() - startedMs)}`);
        throw error;
      },
    );
  }

  function start(name: string, options: WaitOptions = {}, domain = SITE): void {
    wait(name, options, domain).catch(() => undefined);
  }

  it('is over at once while there are tokens, without a timer', async () => {
    expect((await wait('a')).waitedMs).toBe(0);
    expect((await wait('b')).waitedMs).toBe(0);
    expect(ticker.timers).toBe(0);
  });

  it('is over in order of arrival, at the rate of the domain, with one timer', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) start(name);
    expect(ticker.timers).toBe(1);
    await ticker.advance(1_000);
    expect(gone).toEqual(['a 0', 'b 0', 'c 100', 'd 200', 'e 300']);
    expect(store.asked).toBe(5);
    expect(ticker.timers).toBe(0);
  });

  it('costs what it is said to cost', async () => {
    start('a', { tokens: 2 });
    start('b', { tokens: 2 });
    start('c');
    await ticker.advance(1_000);
    expect(gone).toEqual(['a 0', 'b 200', 'c 300']);
  });

  it('fails at once when it would be too long, and costs nothing', async () => {
    for (const name of ['a', 'b', 'c']) start(name);
    await nextTurn();
    const failed = wait('d', { timeoutMs: 199 });
    await expect(failed).rejects.toThrow(WaitTimedOutError);
    await expect(failed).rejects.toMatchObject({ reason: 'rate', retryAfterMs: 200, domain: SITE });
    start('e', { timeoutMs: 200 });
    await ticker.advance(1_000);
    expect(gone).toEqual(['a 0', 'b 0', 'd WaitTimedOutError 0', 'c 100', 'e 200']);
  });

  it('never asks the store when the signal is aborted already', async () => {
    const reason = new Error('changed my mind');
    const failed = wait('a', { signal: AbortSignal.abort(reason) });
    await expect(failed).rejects.toBeInstanceOf(WaitAbortedError);
    await expect(failed).rejects.toMatchObject({ cause: reason });
    expect(store.asked).toBe(0);
  });

  it('gives the turn back when it is aborted, and those behind move up', async () => {
    const aborting = new AbortController();
    for (const name of ['a', 'b']) start(name);
    start('c', { signal: aborting.signal });
    for (const name of ['d', 'e']) start(name);
    await ticker.advance(50);
    aborting.abort(new Error('enough'));
    await nextTurn();
    await nextTurn();
    start('f');
    await ticker.advance(1_000);
    expect(gone).toEqual(['a 0', 'b 0', 'c WaitAbortedError 50', 'd 100', 'e 200', 'f 300']);
  });

  it('gives back turns of another cost than that of those behind', async () => {
    const aborting = new AbortController();
    start('a', { tokens: 2 });
    start('b', { tokens: 2, signal: aborting.signal });
    start('c');
    start('d', { tokens: 2 });
    await ticker.advance(10);
    aborting.abort();
    await ticker.advance(1_000);
    expect(gone).toEqual(['a 0', 'b WaitAbortedError 10', 'c 100', 'd 300']);
  });

  it('listens once to a signal that many wait by', async () => {
    const warnings: Error[] = [];
    const keep = (warning: Error) => warnings.push(warning);
    process.on('warning', keep);
    const aborting = new AbortController();
    for (let i = 0; i < 50; i++) start(`${i}`, { signal: aborting.signal });
    await ticker.advance(50);
    aborting.abort();
    await ticker.advance(50);
    process.off('warning', keep);
    expect(warnings).toEqual([]);
    expect(gone.filter((line) => line.includes('WaitAbortedError'))).toHaveLength(48);
    expect(ticker.timers).toBe(0);
    expect((await wait('next')).waitedMs).toBe(0);
  });

  it('listens once to a signal, also for many domains', async () => {
    const aborting = new AbortController();
    const { signal } = aborting;
    const listen = jest.spyOn(signal, 'addEventListener');
    const stopListening = jest.spyOn(signal, 'removeEventListener');
    const domains = Array.from({ length: 20 }, (_, i) => `host-${i}.example`);
    for (const domain of domains) {
      start('first', { tokens: 2 }, domain);
      start(domain, { signal, tokens: 2 }, domain);
    }
    await ticker.advance(50);
    expect(listen).toHaveBeenCalledTimes(1);
    expect(stopListening).not.toHaveBeenCalled();
    gone = [];
    aborting.abort();
    await ticker.advance(0);
    expect(gone).toEqual(domains.map((domain) => `${domain} WaitAbortedError 50`));
  });

  it('leaves no listener behind on a signal', async () => {
    const { signal } = new AbortController();
    const stopListening = jest.spyOn(signal, 'removeEventListener');
    start('first', { tokens: 2 });
    start('second', { signal });
    start('third', { signal });
    await ticker.advance(100);
    expect(stopListening).not.toHaveBeenCalled();
    await ticker.advance(100);
    expect(gone).toEqual(['first 0', 'second 100', 'third 200']);
    expect(stopListening).toHaveBeenCalledTimes(1);
  });

  it('can never have more tokens than the burst', async () => {
    const failed = wait('a', { tokens: 3 });
    await expect(failed).rejects.toThrow(CostExceedsBurstError);
    await expect(failed).rejects.toThrow(
      '3 tokens can never be had for site.example, whose burstCapacity is 2.',
    );
  });

  it('is refused where calls are switched off', async () => {
    await expect(wait('a', {}, 'off.example')).rejects.toThrow(OutboundDeniedError);
    expect(await stage.limiter.allow('off.example')).toEqual({
      allowed: false,
      retryAfterMs: Infinity,
    });
  });

  it.each([0, -1, 1.5, Number.NaN])('refuses %d tokens', async (tokens) => {
    await expect(wait('a', { tokens })).rejects.toMatchObject({ code: 'INVALID_TOKENS' });
  });

  it.each([-1, Number.NaN])('refuses a timeout of %d', async (timeoutMs) => {
    await expect(wait('a', { timeoutMs })).rejects.toMatchObject({ code: 'INVALID_OPTION' });
  });

  it('counts by the name of the host, however it is written', async () => {
    await wait('a', {}, 'https://Site.Example:443/path');
    await wait('b', {}, 'site.example.');
    start('c');
    await ticker.advance(1_000);
    expect(gone).toEqual(['a 0', 'b 0', 'c 100']);
  });

  it('takes its place behind those who wait when it does not wait itself', async () => {
    for (const name of ['a', 'b', 'c']) start(name);
    await nextTurn();
    expect(await stage.limiter.allow(SITE)).toEqual({ allowed: false, retryAfterMs: 200 });
    await ticker.advance(400);
    expect(await stage.limiter.allow(SITE)).toMatchObject({ allowed: true, retryAfterMs: 0 });
  });

  it('holds a slot until it is released, and lets the next one go then', async () => {
    const [first] = [await wait('a', {}, 'slots.example'), await wait('b', {}, 'slots.example')];
    start('c', {}, 'slots.example');
    start('d', {}, 'slots.example');
    await ticker.advance(5_000);
    expect(gone).toEqual(['a 0', 'b 0']);
    await first.release();
    await ticker.advance(0);
    expect(gone).toEqual(['a 0', 'b 0', 'c 5000']);
  });

  it('does not wait for a slot longer than it may', async () => {
    await wait('a', {}, 'slots.example');
    await wait('b', {}, 'slots.example');
    start('c', { timeoutMs: 1_000 }, 'slots.example');
    await ticker.advance(5_000);
    expect(gone).toEqual(['a 0', 'b 0', 'c WaitTimedOutError 1000']);
  });

  it('follows rules that change while it lasts', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) start(name);
    await ticker.advance(100);
    await stage.book.changeRules(
      new OutboundRules({ default: { requestsPerSecond: 2, burstCapacity: 2 } }),
    );
    await ticker.advance(5_000);
    // What would have been due within 50 ms is not given away twice.
    expect(gone).toEqual(['a 0', 'b 0', 'c 100', 'd 650', 'e 1150', 'f 1650']);
  });

  it('ends when the application closes', async () => {
    for (const name of ['a', 'b', 'c']) start(name);
    await ticker.advance(10);
    stage.limiter.close('the end');
    await ticker.advance(0);
    expect(gone).toEqual(['a 0', 'b 0', 'c WaitAbortedError 10']);
    expect(ticker.timers).toBe(0);
  });

  it('never begins once the application has closed', async () => {
    await wait('a');
    stage.limiter.close('the end');
    const asked = store.asked;
    const failed = wait('b');
    await expect(failed).rejects.toBeInstanceOf(WaitAbortedError);
    await expect(failed).rejects.toMatchObject({ cause: 'the end', domain: SITE });
    await expect(stage.limiter.run(SITE, () => 'value')).rejects.toThrow(WaitAbortedError);
    await expect(stage.limiter.fetch(`https://${SITE}`)).rejects.toThrow(WaitAbortedError);
    expect(store.asked).toBe(asked);
    expect(stage.limiter.getStats(SITE).cancelledRequests).toBe(3);
  });

  it('runs a call and gives its slot back, whatever becomes of it', async () => {
    const { limiter } = stage;
    expect(await limiter.run('slots.example', () => 'value')).toBe('value');
    const failing = limiter.run('slots.example', () => Promise.reject(new Error('broken')));
    await expect(failing).rejects.toThrow('broken');
    await wait('a', {}, 'slots.example');
    expect((await wait('b', {}, 'slots.example')).waitedMs).toBe(0);
  });

  it('is counted', async () => {
    for (const name of ['a', 'b', 'c', 'd']) start(name);
    start('e', { timeoutMs: 0 });
    await ticker.advance(1_000);
    const stats = stage.limiter.getStats('SITE.example');
    expect(stats).toMatchObject({
      domain: SITE,
      totalRequests: 4,
      delayedRequests: 2,
      totalWaitMs: 300,
      averageWaitMs: 150,
      delayRate: 0.5,
      cancelledRequests: 1,
    });
    expect(JSON.parse(JSON.stringify(stage.limiter.getAllStats()))).toMatchObject({
      [SITE]: { domain: SITE, total_requests: 4, delayed_requests: 2, total_wait_time_ms: 300 },
    });
    stage.limiter.resetStats(SITE);
    expect(stage.limiter.getStats(SITE).totalRequests).toBe(0);
    expect(() => stage.limiter.getStats('never.example')).toThrow(
      'There are no statistics of never.example: nothing was sent to it yet.',
    );
  });

  it('is remembered for a bounded number of domains, the idle ones going first', async () => {
    stage = new OutboundStage({ ticker, store, maxDomains: 3 });
    for (const name of ['a', 'b', 'c']) start(name, {}, 'busy.example');
    for (let i = 0; i < 10; i++) {
      await ticker.advance(1);
      await stage.limiter.wait(`host-${i}.example`);
    }
    const known = Object.keys(stage.limiter.getAllStats());
    expect(known).toHaveLength(3);
    expect(known).toContain('busy.example');
    expect(known).toContain('host-9.example');
  });

  it('is forgotten when nobody came for long', async () => {
    stage = new OutboundStage({ ticker, store, idleMs: 60_000 });
    await stage.limiter.wait('old.example');
    await ticker.advance(60_001);
    await stage.limiter.wait('new.example');
    expect(Object.keys(stage.limiter.getAllStats())).toEqual(['new.example']);
  });
});
