import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  jest,
} from '@jest/globals';
import type { GateState, GateWatch } from '../../lib/core/gate.js';
import type { LimitStore } from '../../lib/core/limit-store.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import type { BlockOptions, ThrottleState } from '../../lib/outbound/adaptive-throttler.js';
import { WaitTimedOutError } from '../../lib/outbound/outbound-errors.js';
import type { Permit } from '../../lib/outbound/permit.js';
import type { WaitOptions } from '../../lib/outbound/wait-options.js';
import type { RedisServers } from '../../lib/redis/redis-servers.js';
import { RedisStore } from '../../lib/redis/redis-store.js';
import { serversOf } from '../../lib/redis/servers-of.js';
import { FakeTicker } from '../support/fake-ticker.js';
import type { OutboundStageOptions } from '../support/outbound-stage.js';
import { OutboundStage } from '../support/outbound-stage.js';
import { sharedRedis } from '../support/redis-servers.js';
import { SettlingStore } from '../support/settling-store.js';

const MINUTE = 60_000;
const NORMAL: ThrottleState = { status: 'normal', consecutiveBlocks: 0, cooldownMs: 0 };

let client: Redis;
let servers: RedisServers;
let ticker: FakeTicker;

beforeAll(() => {
  client = new Redis(sharedRedis.url).setMaxListeners(0);
  servers = serversOf(client);
});

afterAll(() => servers.close());

/** A store whose time is that of the ticker. */
const STORES: Record<string, () => LimitStore> = {
  'in memory': () => {
    ticker = new FakeTicker();
    return new MemoryStore(ticker.clock);
  },
  'on Redis': () => {
    const keyPrefix = `throttler-${randomUUID()}`;
    const nowUs = () => ticker.clock.nowUs();
    const store = new SettlingStore(new RedisStore(servers, { keyPrefix, nowUs }));
    ticker = new FakeTicker(() => store.settle());
    return store;
  },
};

describe.each(Object.entries(STORES))('cooling down %s', (_name, createStore) => {
  let store: LimitStore;
  let stage: OutboundStage;
  let startedMs: number;
  /** What happened, with the time in milliseconds from the beginning. */
  let happened: string[];
  const site = 'site.example';

  beforeEach(() => {
    store = createStore();
    startedMs = ticker.nowMs();
    happened = [];
    stage = newStage();
  });

  afterEach(() => store.close());

  /** 10 a second, 2 at once; cooldowns of 45 s. */
  function newStage(options: OutboundStageOptions = {}): OutboundStage {
    return new OutboundStage({ ticker, store, ...options });
  }

  function note(what: string): void {
    happened.push(`${what} ${Math.round(ticker.nowMs() - startedMs)}`);
  }

  function noteEvents({ throttler: { events } }: OutboundStage, who = ''): void {
    const say = (text: string) => note(who + text);
    events.on('block', ({ type, taskId, consecutiveBlocks }) =>
      say(`block ${type} ${taskId ?? '-'} #${consecutiveBlocks}`),
    );
    events.on('cooldown', ({ cooldownMs, consecutiveBlocks }) =>
      say(`cooldown ${cooldownMs} #${consecutiveBlocks}`),
    );
    events.on('recovered', ({ domain }) => say(`recovered ${domain}`));
  }

  /** Notes when a wait is over, or why it failed. */
  async function wait(name: string, options: WaitOptions = {}, at = stage): Promise<Permit> {
    try {
      const permit = await at.limiter.wait(site, options);
      note(permit.isProbe ? `${name} tries` : name);
      return permit;
    } catch (error) {
      note(`${name} ${(error as Error).name}`);
      throw error;
    }
  }

  function start(name: string, options: WaitOptions = {}, at = stage): void {
    wait(name, options, at).catch(() => undefined);
  }

  /** Several blocks, one after another; tells what the last one came to. */
  async function block(times = 1, options: BlockOptions = {}, at = stage) {
    for (let i = 1; i < times; i++) await at.throttler.recordBlock(site, '403_forbidden', options);
    const advice = await at.throttler.recordBlock(site, '403_forbidden', options);
    await ticker.advance(0);
    return advice;
  }

  /** A permit that can be waited for although time stands still. */
  async function permit(): Promise<Permit> {
    const waiting = stage.limiter.wait(site);
    await ticker.advance(0);
    return waiting;
  }

  async function succeed(options: { permit?: Permit } = {}): Promise<void> {
    await stage.throttler.recordSuccess(site, options);
    await ticker.advance(0);
  }

  /** A call that lasts until its caller gives it up. */
  function untilAborted(signal: AbortSignal): Promise<never> {
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
  }

  const state = () => stage.throttler.state(site);

  describe('begins', () => {
    it('with the third block in a row, not before', async () => {
      const calm = { status: 'normal', cooldownMs: 0, shouldSleep: false, sleepMs: 0 };
      expect(await block()).toEqual({ ...calm, consecutiveBlocks: 1 });
      expect(await block()).toEqual({ ...calm, consecutiveBlocks: 2 });
      expect(await block()).toEqual({
        status: 'cooling',
        consecutiveBlocks: 3,
        cooldownMs: 45_000,
        shouldSleep: true,
        sleepMs: 45_000,
      });
    });

    it.each([
      [0, 30_000],
      [0.25, 37_500],
      [0.999_999, 60_000],
    ])('for 30 to 60 s, as chance (%d) has it', async (chance, cooldownMs) => {
      stage = newStage({ random: () => chance });
      expect((await block(3)).cooldownMs).toBe(cooldownMs);
    });

    it.each([
      'cloudflare_challenge',
      'captcha',
      '403_forbidden',
      '429_rate_limited',
      'blank_page',
      'a type of my own',
    ])('after blocks of type %s', async (type) => {
      const { throttler } = stage;
      for (let i = 0; i < 2; i++) await throttler.recordBlock(site, type);
      expect(await throttler.recordBlock(site, type)).toMatchObject({ cooldownMs: 45_000 });
    });

    it('after blocks of different types', async () => {
      const { throttler } = stage;
      await throttler.recordBlock(site, 'captcha');
      await throttler.recordBlock(site, 'blank_page');
      const third = await throttler.recordBlock(site, '429_rate_limited');
      expect(third).toMatchObject({ status: 'cooling', consecutiveBlocks: 3 });
    });

    it.each(['connection_error', 'timeout'])(
      'never because of %s, which is counted',
      async (type) => {
        const { throttler } = stage;
        for (let i = 0; i < 10; i++) {
          expect(await throttler.recordBlock(site, type)).toEqual({
            ...NORMAL,
            shouldSleep: false,
            sleepMs: 0,
          });
        }
        expect(throttler.stats(site)).toEqual({
          cooldownsOpened: 0,
          totalCooldownMs: 0,
          lastCooldownMs: 0,
          blocksByType: { [type]: 10 },
        });
      },
    );

    it('although the network failed between the blocks', async () => {
      await block(2);
      await stage.throttler.recordBlock(site, 'timeout');
      expect(await block()).toMatchObject({ consecutiveBlocks: 3, cooldownMs: 45_000 });
    });

    it('for one domain, whatever it was called, and for no other', async () => {
      const { throttler } = stage;
      await throttler.recordBlock('https://Site.Example:8443/path', 'captcha');
      await throttler.recordBlock('SITE.example.', 'captcha');
      await throttler.recordBlock('site.example', 'captcha');
      expect(await state()).toMatchObject({ status: 'cooling' });
      expect(await throttler.state('other.example')).toEqual(NORMAL);
      expect(await throttler.state('www.site.example')).toEqual(NORMAL);
    });

    it('for all workers, by the blocks of all', async () => {
      const other = newStage();
      await block(2);
      await block(1, {}, other);
      expect(await state()).toEqual({
        status: 'cooling',
        consecutiveBlocks: 3,
        cooldownMs: 45_000,
      });
      expect(await other.throttler.state(site)).toEqual(await state());
    });
  });

  describe('forgets', () => {
    it('blocks after ten minutes, a millisecond earlier it does not', async () => {
      await block(2);
      await ticker.advance(10 * MINUTE - 1);
      expect(await state()).toMatchObject({ consecutiveBlocks: 2 });
      await ticker.advance(1);
      expect(await state()).toEqual(NORMAL);
      expect(await block()).toMatchObject({ consecutiveBlocks: 1, cooldownMs: 0 });
    });

    it('counting from the last block', async () => {
      await block();
      await ticker.advance(9 * MINUTE);
      await block();
      await ticker.advance(9 * MINUTE);
      expect(await block()).toMatchObject({ consecutiveBlocks: 3, cooldownMs: 45_000 });
    });

    it('all of them upon one success', async () => {
      await block(2);
      await succeed();
      expect(await state()).toEqual(NORMAL);
      expect(await block(2)).toMatchObject({ consecutiveBlocks: 2, cooldownMs: 0 });
    });

    it('them upon a success that another worker had', async () => {
      const other = newStage();
      await other.throttler.recordSuccess(site);
      await block(2);
      await other.throttler.recordSuccess(site);
      expect(await state()).toEqual(NORMAL);
    });
  });

  describe('follows', () => {
    const throttle = { blocksToCooldown: 2, minCooldownMs: 1_000, maxCooldownMs: 3_000 };
    const rule = { requestsPerSecond: 10, burstCapacity: 2 };

    it('numbers for all domains', async () => {
      stage = newStage({ throttle });
      expect(await block(2)).toMatchObject({ consecutiveBlocks: 2, cooldownMs: 2_000 });
    });

    it('numbers for one domain, and those for all where it says nothing', async () => {
      stage = newStage({
        throttle: { blocksToCooldown: 4, memoryMs: 5_000 },
        domains: { [site]: { ...rule, throttle } },
      });
      await block();
      await ticker.advance(5_000);
      expect(await block()).toMatchObject({ consecutiveBlocks: 1 });
      expect(await block()).toMatchObject({ consecutiveBlocks: 2, cooldownMs: 2_000 });
      for (let i = 0; i < 3; i++) await stage.throttler.recordBlock('other.example', 'captcha');
      expect(await stage.throttler.state('other.example')).toMatchObject({
        status: 'normal',
        consecutiveBlocks: 3,
      });
    });

    it('a domain that wants to cool down at the first block, always for the same time', async () => {
      const same = { blocksToCooldown: 1, minCooldownMs: 700, maxCooldownMs: 700 };
      stage = newStage({ domains: { [site]: { ...rule, throttle: same } } });
      expect(await block()).toMatchObject({ consecutiveBlocks: 1, cooldownMs: 700 });
    });

    it('the longest Retry-After that a domain is given', async () => {
      stage = newStage({ domains: { [site]: { ...rule, throttle: { maxRetryAfterMs: 9_000 } } } });
      expect(await block(1, { retryAfterMs: 20_000 })).toMatchObject({ cooldownMs: 9_000 });
    });

    it('the time that a probe is given', async () => {
      stage = newStage({
        domains: { [site]: { ...rule, throttle: { probeTimeoutMs: 4_000 } } },
      });
      await block(3);
      start('a');
      start('b');
      await ticker.advance(60_000);
      expect(happened).toEqual(['a tries 45000', 'b tries 49000']);
    });
  });

  describe('makes others wait', () => {
    it('until it is over, and those who come meanwhile as well', async () => {
      await block(3);
      start('a');
      await ticker.advance(44_999);
      expect(happened).toEqual([]);
      await ticker.advance(1);
      expect(happened).toEqual(['a tries 45000']);
    });

    it('also those who had a turn already', async () => {
      for (const name of ['a', 'b', 'c', 'd']) start(name);
      await ticker.advance(50);
      await block(3);
      await ticker.advance(60_000);
      expect(happened).toEqual(['a 0', 'b 0', 'c tries 45050']);
    });

    it('unless they cannot, and hear so at once with the time that is left', async () => {
      await block(3);
      await ticker.advance(5_000);
      const failed = wait('a', { timeoutMs: 39_999 });
      start('b', { timeoutMs: 40_001 });
      await expect(failed).rejects.toThrow(WaitTimedOutError);
      await expect(failed).rejects.toMatchObject({
        domain: site,
        reason: 'cooldown',
        retryAfterMs: 40_000,
      });
      expect(happened).toEqual(['a WaitTimedOutError 5000']);
      await ticker.advance(40_000);
      expect(happened).toEqual(['a WaitTimedOutError 5000', 'b tries 45000']);
    });

    it('unless they cannot, also when they waited before', async () => {
      for (const name of ['a', 'b', 'c']) start(name);
      start('patient', { timeoutMs: 50_000 });
      start('hasty', { timeoutMs: 45_019 });
      await ticker.advance(20);
      await block(3);
      await ticker.advance(0);
      expect(happened).toEqual(['a 0', 'b 0', 'hasty WaitTimedOutError 20']);
    });

    it('unless they are aborted', async () => {
      const aborting = new AbortController();
      await block(3);
      start('a', { signal: aborting.signal });
      start('b');
      await ticker.advance(1_000);
      aborting.abort();
      await ticker.advance(60_000);
      expect(happened).toEqual(['a WaitAbortedError 1000', 'b tries 45000']);
    });

    it('in any process', async () => {
      const other = newStage();
      start('a', {}, other);
      start('b', {}, other);
      start('c', {}, other);
      await ticker.advance(10);
      await block(3);
      await ticker.advance(60_000);
      expect(happened).toEqual(['a 0', 'b 0', 'c tries 45010']);
    });

    it('who only ask, and are told how long', async () => {
      await block(3);
      await ticker.advance(5_000);
      expect(await stage.limiter.allow(site)).toEqual({ allowed: false, retryAfterMs: 40_000 });
      await ticker.advance(40_000);
      const answer = await stage.limiter.allow(site);
      expect(answer).toMatchObject({ allowed: true, retryAfterMs: 0 });
      expect(answer.permit!.isProbe).toBe(true);
      // Nobody knows when the probe comes back, only when it is taken for lost.
      expect(await stage.limiter.allow(site)).toEqual({ allowed: false, retryAfterMs: 30_000 });
    });
  });

  describe('takes for one event', () => {
    it('all blocks that come while it lasts', async () => {
      noteEvents(stage);
      await block(3);
      await ticker.advance(1_000);
      expect(await block(20)).toMatchObject({ consecutiveBlocks: 3, cooldownMs: 44_000 });
      expect(happened.filter((line) => line.startsWith('cooldown'))).toEqual([
        'cooldown 45000 #3 0',
      ]);
      expect(stage.throttler.stats(site)).toEqual({
        cooldownsOpened: 1,
        totalCooldownMs: 45_000,
        lastCooldownMs: 45_000,
        blocksByType: { '403_forbidden': 23 },
      });
    });

    it('blocks of requests that were sent before it, although they come after it', async () => {
      const early = await permit();
      await block(3);
      await ticker.advance(45_000);
      start('a');
      await ticker.advance(0);
      expect(await block(5, { permit: early })).toMatchObject({
        status: 'trying',
        consecutiveBlocks: 3,
        cooldownMs: 0,
      });
    });

    it('and tells nobody of a success that was on its way when it began', async () => {
      noteEvents(stage);
      const early = await permit();
      await block(3);
      happened.length = 0;
      await succeed({ permit: early });
      await succeed();
      expect(await state()).toMatchObject({ status: 'cooling', cooldownMs: 45_000 });
      await ticker.advance(45_000);
      await succeed({ permit: early });
      expect(await state()).toEqual({ status: 'trying', consecutiveBlocks: 3, cooldownMs: 0 });
      expect(happened).toEqual([]);
    });
  });

  describe('ends', () => {
    it('with one that tries, and the others follow at the rate, without a burst', async () => {
      await block(3);
      const probe = wait('a');
      for (const name of ['b', 'c', 'd', 'e']) start(name);
      await ticker.advance(45_400);
      expect(happened).toEqual(['a tries 45000']);
      await succeed({ permit: await probe });
      await ticker.advance(10_000);
      expect(happened).toEqual(['a tries 45000', 'b 45500', 'c 45600', 'd 45700', 'e 45800']);
      expect(await state()).toEqual(NORMAL);
    });

    it('without a burst also for those who come later', async () => {
      await block(3);
      await ticker.advance(45_000);
      await succeed({ permit: await permit() });
      for (const name of ['a', 'b', 'c']) start(name);
      await ticker.advance(1_000);
      expect(happened).toEqual(['a 45100', 'b 45200', 'c 45300']);
    });

    it('with one that tries among all processes', async () => {
      const other = newStage();
      await block(3);
      const probe = wait('a');
      start('b', {}, other);
      await ticker.advance(46_000);
      expect(happened).toEqual(['a tries 45000']);
      await succeed({ permit: await probe });
      await ticker.advance(1_000);
      expect(happened).toEqual(['a tries 45000', 'b 46100']);
    });

    it('soon enough for some who wait for the one that tries, too late for others', async () => {
      await block(3);
      const probe = wait('a');
      await ticker.advance(45_000);
      start('b', { timeoutMs: 400 });
      start('c', { timeoutMs: 1_000 });
      await ticker.advance(500);
      await succeed({ permit: await probe });
      await ticker.advance(1_000);
      expect(happened).toEqual(['a tries 45000', 'b WaitTimedOutError 45400', 'c 45600']);
    });

    it('not when the one that tries is blocked', async () => {
      noteEvents(stage);
      await block(3);
      const probe = wait('a');
      start('b');
      await ticker.advance(45_100);
      happened.length = 0;
      expect(await block(1, { permit: await probe })).toMatchObject({
        status: 'cooling',
        consecutiveBlocks: 4,
        cooldownMs: 45_000,
      });
      await ticker.advance(45_000);
      expect(happened.toSorted()).toEqual([
        'b tries 90100',
        'block 403_forbidden - #4 45100',
        'cooldown 45000 #4 45100',
      ]);
    });

    it('by the next that tries when the first does not come back', async () => {
      await block(3);
      start('a');
      const second = wait('b');
      for (const name of ['c', 'd']) start(name);
      await ticker.advance(74_999);
      expect(happened).toEqual(['a tries 45000']);
      await ticker.advance(1);
      expect(happened).toEqual(['a tries 45000', 'b tries 75000']);
      await succeed({ permit: await second });
      await ticker.advance(1_000);
      expect(happened.slice(2)).toEqual(['c 75100', 'd 75200']);
    });

    it('by itself when the one that tries was run, and came back', async () => {
      await block(3);
      const running = stage.limiter.run(site, ({ isProbe }) => isProbe);
      start('b');
      await ticker.advance(45_000);
      expect(await running).toBe(true);
      await ticker.advance(1_000);
      expect(happened).toEqual(['b 45100']);
    });

    it('not when the one that tries was run, and failed', async () => {
      await block(3);
      const running = stage.limiter.run(site, () => Promise.reject(new Error('broken')));
      running.catch(() => undefined);
      start('b');
      await ticker.advance(60_000);
      await expect(running).rejects.toThrow('broken');
      expect(await state()).toMatchObject({ status: 'trying' });
      await ticker.advance(15_000);
      expect(happened).toEqual(['b tries 75000']);
    });

    it('by the next that tries at once when the first gives up before its turn', async () => {
      const aborting = new AbortController();
      const other = newStage();
      // The one that tries has to wait for a token.
      await stage.limiter.allow(site, 2);
      await block(1, { retryAfterMs: 50 });
      start('a', { signal: aborting.signal });
      await ticker.advance(60);
      start('b', {}, other);
      await ticker.advance(10);
      expect(happened).toEqual([]);
      aborting.abort();
      await ticker.advance(1_000);
      expect(happened).toEqual(['a WaitAbortedError 70', 'b tries 100']);
    });

    it('by the next that tries at once when the first was run, and given up', async () => {
      const aborting = new AbortController();
      const { signal } = aborting;
      await block(3);
      const running = stage.limiter.run(site, () => untilAborted(signal), { signal });
      running.catch(() => undefined);
      start('b');
      await ticker.advance(46_000);
      expect(happened).toEqual([]);
      aborting.abort();
      await ticker.advance(1_000);
      await expect(running).rejects.toThrow('This operation was aborted');
      expect(happened).toEqual(['b tries 46000']);
    });

    it('by the next when the first is taken for lost, because its time is over', async () => {
      const aborting = new AbortController();
      const { signal } = aborting;
      await block(3);
      const running = stage.limiter.run(site, () => untilAborted(signal), { signal });
      running.catch(() => undefined);
      start('b');
      await ticker.advance(46_000);
      aborting.abort(new DOMException('too slow', 'TimeoutError'));
      await ticker.advance(30_000);
      expect(happened).toEqual(['b tries 75000']);
    });

    it('not because of a failure of the network', async () => {
      await block(3);
      await ticker.advance(45_000);
      const probe = await permit();
      await stage.throttler.recordBlock(site, 'connection_error', { permit: probe });
      expect(await state()).toEqual({ status: 'trying', consecutiveBlocks: 3, cooldownMs: 0 });
    });

    it('by a success whoever reports it when it is over', async () => {
      await block(3);
      await ticker.advance(45_000);
      await succeed();
      expect(await state()).toEqual(NORMAL);
    });

    it('forgotten when nobody came for ten minutes after it', async () => {
      await block(3);
      await ticker.advance(45_000 + 10 * MINUTE - 1);
      expect(await state()).toMatchObject({ status: 'trying' });
      await ticker.advance(1);
      expect(await state()).toEqual(NORMAL);
      expect((await permit()).isProbe).toBe(false);
    });
  });

  describe('by Retry-After', () => {
    it('begins with the first block, for as long as it says', async () => {
      expect(await block(1, { retryAfterMs: 7_000 })).toEqual({
        status: 'cooling',
        consecutiveBlocks: 1,
        cooldownMs: 7_000,
        shouldSleep: true,
        sleepMs: 7_000,
      });
      start('a');
      await ticker.advance(10_000);
      expect(happened).toEqual(['a tries 7000']);
    });

    it('prolongs, and those who wait wait longer', async () => {
      await block(1, { retryAfterMs: 7_000 });
      start('a');
      await ticker.advance(5_000);
      expect(await block(1, { retryAfterMs: 7_000 })).toMatchObject({ cooldownMs: 7_000 });
      await ticker.advance(10_000);
      expect(happened).toEqual(['a tries 12000']);
    });

    it('never shortens', async () => {
      await block(1, { retryAfterMs: 7_000 });
      expect(await block(1, { retryAfterMs: 1_000 })).toMatchObject({ cooldownMs: 7_000 });
      expect(await block(1, { retryAfterMs: 7_000 })).toMatchObject({ cooldownMs: 7_000 });
    });

    it('does not shorten what the third block asks for', async () => {
      await block(2);
      expect(await block(1, { retryAfterMs: 1_000 })).toMatchObject({ cooldownMs: 45_000 });
    });

    it('does not keep the third block from counting when it says nothing', async () => {
      await block(2);
      expect(await block(1, { retryAfterMs: Number.NaN })).toMatchObject({ cooldownMs: 45_000 });
    });

    it('makes that of the third block longer', async () => {
      await block(2);
      expect(await block(1, { retryAfterMs: 50_000 })).toMatchObject({ cooldownMs: 50_000 });
    });

    it('is heeded up to an hour', async () => {
      expect(await block(1, { retryAfterMs: 86_400_000 })).toMatchObject({ cooldownMs: 3_600_000 });
    });

    it('is heeded up to an hour when it says for ever', async () => {
      expect(await block(1, { retryAfterMs: Infinity })).toMatchObject({ cooldownMs: 3_600_000 });
    });

    it.each([0, -1_000, Number.NaN])('says nothing when it is %d', async (retryAfterMs) => {
      expect(await block(1, { retryAfterMs })).toMatchObject({
        status: 'normal',
        consecutiveBlocks: 1,
        cooldownMs: 0,
      });
    });

    it('of a lost connection is not heeded', async () => {
      const advice = await stage.throttler.recordBlock(site, 'timeout', { retryAfterMs: 9_000 });
      expect(advice.cooldownMs).toBe(0);
    });
  });

  describe('pausing because nothing is left', () => {
    it('lasts as long as it is said to, and then one tries', async () => {
      noteEvents(stage);
      await stage.throttler.pause(site, 3_000);
      start('a');
      start('b');
      await ticker.advance(4_000);
      expect(happened).toEqual(['cooldown 3000 #1 0', 'a tries 3000']);
    });

    it('is no block that would make three', async () => {
      await block(2);
      await stage.throttler.pause(site, 3_000);
      expect(await state()).toMatchObject({ status: 'cooling', cooldownMs: 3_000 });
    });

    it('is counted among the cooldowns', async () => {
      await stage.throttler.pause(site, 3_000);
      expect(stage.throttler.stats(site)).toEqual({
        cooldownsOpened: 1,
        totalCooldownMs: 3_000,
        lastCooldownMs: 3_000,
        blocksByType: {},
      });
    });

    it.each([0, -5, Number.NaN])('for %d ms is none', async (milliseconds) => {
      await stage.throttler.pause(site, milliseconds);
      expect(await state()).toEqual(NORMAL);
    });
  });

  describe('tells', () => {
    it('what happens, once each', async () => {
      noteEvents(stage);
      const { throttler } = stage;
      await throttler.recordBlock(site, 'captcha', { taskId: 'task-7' });
      await ticker.advance(10);
      await throttler.recordBlock(site, '429_rate_limited');
      await ticker.advance(10);
      await throttler.recordBlock(site, 'timeout', { taskId: 'task-8' });
      await throttler.recordBlock(site, '403_forbidden');
      await ticker.advance(45_000);
      await succeed({ permit: await permit() });
      await succeed();
      await ticker.advance(1_000);
      expect(happened.toSorted()).toEqual([
        'block 403_forbidden - #3 20',
        'block 429_rate_limited - #2 10',
        'block captcha task-7 #1 0',
        'block timeout task-8 #2 20',
        'cooldown 45000 #3 20',
        'recovered site.example 45020',
      ]);
    });

    it('other workers of cooldowns and their end, of blocks only their own', async () => {
      const other = newStage();
      await other.throttler.recordSuccess(site);
      noteEvents(stage, '1: ');
      noteEvents(other, '2: ');
      await block(2);
      await block(1, {}, other);
      await ticker.advance(45_000);
      await succeed({ permit: await permit() });
      expect(happened.toSorted()).toEqual([
        '1: block 403_forbidden - #1 0',
        '1: block 403_forbidden - #2 0',
        '1: cooldown 45000 #3 0',
        '1: recovered site.example 45000',
        '2: block 403_forbidden - #3 0',
        '2: cooldown 45000 #3 0',
        '2: recovered site.example 45000',
      ]);
    });

    it('of a cooldown again when it is prolonged', async () => {
      noteEvents(stage);
      await block(1, { retryAfterMs: 7_000 });
      await ticker.advance(5_000);
      await block(1, { retryAfterMs: 7_000 });
      await block(1, { retryAfterMs: 6_000 });
      expect(happened.filter((line) => line.startsWith('cooldown'))).toEqual([
        'cooldown 7000 #1 0',
        'cooldown 7000 #1 5000',
      ]);
    });

    it('of one cooldown when answers that were on their way together prolong it', async () => {
      noteEvents(stage);
      for (let i = 0; i < 5; i++) {
        await block(1, { retryAfterMs: 7_000 });
        await ticker.advance(200);
      }
      await ticker.advance(400);
      await block(1, { retryAfterMs: 7_000 });
      expect(happened.filter((line) => line.startsWith('cooldown'))).toEqual([
        'cooldown 7000 #1 0',
        'cooldown 7000 #1 1400',
      ]);
    });

    it('of one cooldown when the news of it come late', async () => {
      const news: GateState[] = [];
      const watch = store.watchGates((_key, state) => news.push(state));
      noteEvents(stage);
      await block(3);
      await ticker.advance(900);
      stage.throttler.hear(stage.book.find(site)!, news.at(-1)!);
      expect(happened.filter((line) => line.startsWith('cooldown'))).toEqual([
        'cooldown 45000 #3 0',
      ]);
      watch.close();
    });

    it('of no end where there was no cooldown', async () => {
      noteEvents(stage);
      await block(2);
      await succeed();
      expect(happened.filter((line) => line.startsWith('recovered'))).toEqual([]);
    });

    it('of every cooldown in a row, and of one end', async () => {
      noteEvents(stage);
      await block(3);
      for (let i = 0; i < 3; i++) {
        await ticker.advance(45_000);
        await block(1, { permit: await permit() });
      }
      await ticker.advance(45_000);
      await succeed({ permit: await permit() });
      expect(happened.filter((line) => !line.startsWith('block'))).toEqual([
        'cooldown 45000 #3 0',
        'cooldown 45000 #4 45000',
        'cooldown 45000 #5 90000',
        'cooldown 45000 #6 135000',
        'recovered site.example 180000',
      ]);
    });
  });

  describe('is counted', () => {
    it('in cooldowns, in their length and by types of blocks', async () => {
      await block(3);
      await ticker.advance(45_000);
      await stage.throttler.recordBlock(site, 'captcha', { retryAfterMs: 50_000 });
      await stage.throttler.recordBlock(site, 'connection_error');
      expect(stage.throttler.stats('SITE.example')).toEqual({
        cooldownsOpened: 2,
        totalCooldownMs: 95_000,
        lastCooldownMs: 50_000,
        blocksByType: { '403_forbidden': 3, captcha: 1, connection_error: 1 },
      });
    });

    it('by the worker whose report opened it', async () => {
      const other = newStage();
      await block(1, {}, other);
      await block(2);
      expect(stage.throttler.stats(site)).toMatchObject({ cooldownsOpened: 1 });
      expect(other.throttler.stats(site)).toMatchObject({
        cooldownsOpened: 0,
        totalCooldownMs: 0,
        blocksByType: { '403_forbidden': 1 },
      });
    });

    it('with a bounded number of types', async () => {
      for (let i = 0; i < 60; i++) await stage.throttler.recordBlock(site, `type-${i}`);
      const { blocksByType } = stage.throttler.stats(site);
      expect(Object.keys(blocksByType)).toHaveLength(51);
      expect(blocksByType).toMatchObject({ 'type-0': 1, 'type-49': 1, other: 10 });
    });

    it('until it is reset, which ends no cooldown', async () => {
      await block(3);
      stage.limiter.resetStats(site);
      expect(stage.throttler.stats(site)).toEqual({
        cooldownsOpened: 0,
        totalCooldownMs: 0,
        lastCooldownMs: 0,
        blocksByType: {},
      });
      expect(await state()).toMatchObject({ status: 'cooling' });
    });
  });

  describe('has a state', () => {
    it('that is normal for domains that nobody heard of', async () => {
      expect(await stage.throttler.state('never.example')).toEqual(NORMAL);
    });

    it('that changes as time passes', async () => {
      await block(3);
      await ticker.advance(44_999);
      expect(await state()).toEqual({ status: 'cooling', consecutiveBlocks: 3, cooldownMs: 1 });
      await ticker.advance(1);
      expect(await state()).toEqual({ status: 'trying', consecutiveBlocks: 3, cooldownMs: 0 });
      await succeed({ permit: await permit() });
      expect(await state()).toEqual(NORMAL);
    });
  });

  it('goes on when a listener throws, for those who wait', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    stage.throttler.events.on('cooldown', () => {
      throw new Error('the listener is broken');
    });
    for (const name of ['a', 'b', 'c']) start(name);
    await ticker.advance(10);
    expect(await block(3)).toMatchObject({ cooldownMs: 45_000 });
    await ticker.advance(60_000);
    expect(happened).toEqual(['a 0', 'b 0', 'c tries 45010']);
    expect(warn.mock.calls).toEqual([
      ['A listener of AdaptiveThrottler.events threw: Error: the listener is broken'],
    ]);
    warn.mockRestore();
  });
});

/** Hears nothing of what other processes do. */
class DeafStore extends SettlingStore {
  override watchGates(): GateWatch {
    return { isLive: false, gaps: 0, close: () => undefined };
  }
}

describe('cooling down', () => {
  it('is ended by the call that tries, also where nobody heard that it began', async () => {
    const shared = new MemoryStore((ticker = new FakeTicker()).clock);
    const [here, there] = [shared, new DeafStore(shared)].map(
      (store) => new OutboundStage({ ticker, store }),
    ) as [OutboundStage, OutboundStage];
    await there.throttler.recordSuccess('site.example');
    for (let i = 0; i < 3; i++) await here.throttler.recordBlock('site.example', 'captcha');
    await ticker.advance(45_000);
    const permit = await there.limiter.wait('site.example');
    expect(permit.isProbe).toBe(true);
    await there.throttler.recordSuccess('site.example', { permit });
    expect(await here.throttler.state('site.example')).toEqual(NORMAL);
  });

  it('lasts between 30 and 60 s, and never the same', async () => {
    const lengths: number[] = [];
    for (let i = 0; i < 50; i++) {
      const { throttler } = new OutboundStage({ random: Math.random });
      for (let j = 0; j < 3; j++) await throttler.recordBlock('site.example', 'captcha');
      lengths.push((await throttler.state('site.example')).cooldownMs);
    }
    expect(Math.min(...lengths)).toBeGreaterThanOrEqual(30_000);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(60_000);
    expect(new Set(lengths).size).toBeGreaterThan(25);
  });

  it('costs a domain without blocks nothing but the first look', async () => {
    let changes = 0;
    const { clock } = new FakeTicker();
    class CountingStore extends MemoryStore {
      override changeGate(change: Parameters<MemoryStore['changeGate']>[0]) {
        changes++;
        return super.changeGate(change);
      }
    }
    const { throttler } = new OutboundStage({ store: new CountingStore(clock) });
    for (let i = 0; i < 100; i++) await throttler.recordSuccess('site.example');
    expect(changes).toBe(1);
  });
});
