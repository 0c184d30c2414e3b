import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RateLimiter } from '../../lib/index.js';
import { describeWithServers } from '../support/describe-with-servers.js';
import { Load, LOAD_PLANS } from '../support/load.js';
import { until } from '../support/redis-servers.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { ShiftedClock } from './shifted-clock.js';
import type { Server } from './stage.js';
import { PATIENT, Stage } from './stage.js';

const APP_PROCESSES: string = '../support/app-processes.mjs';
const { startApp } = (await import(APP_PROCESSES)) as {
  startApp: (options: object) => Promise<{
    call(method: string, ...args: unknown[]): Promise<unknown>;
    kill(signal: string): void;
    end(): Promise<void>;
  }>;
};

const CAPACITY = 1_000_000;
const PLANS = {
  counted: { capacity: CAPACITY, tokensPerSecond: 0.01 },
  gold: { capacity: 5, tokensPerSecond: 0.001 },
  window: { limit: 5, windowMs: 600_000 },
  slots: { maxConcurrent: 5, leaseMs: 60_000 },
};

describeWithServers('native server', 'what a failure leaves behind:', () => {
  let stage: Stage;
  let server: Server;
  let admin: Redis;
  let proxy: TcpProxy;

  beforeEach(async () => {
    stage = new Stage();
    server = await stage.server();
    admin = stage.admin(server);
    proxy = await TcpProxy.to(server);
  });

  afterEach(async () => {
    await stage.end();
    await proxy.close();
  });

  const shared = (limiter: RateLimiter) =>
    until('Redis', async () => (await limiter.allow('back', 'counted')).reason === 'ALLOWED');
  const free = async (limiter: RateLimiter) => (await limiter.peek('ada', 'slots')).remainingTokens;

  describe('an answer out of step', () => {
    const second = (text: string) => text.indexOf('*', 1);
    it.each<[string, (text: string) => string]>([
      ['surplus', (text) => `+OK\r\n+X\r\n${text}`],
      ['truncated', (text) => text.slice(0, second(text) - 8) + text.slice(second(text))],
      ['doubled', (text) => text.slice(0, second(text)) + text],
    ])('%s is never taken for that of another caller', async (_what, rewrite) => {
      const { limiter } = await stage.app(proxy.url, { plans: PLANS, ...PATIENT });
      const keys = Array.from({ length: 12 }, (_, i) => `caller-${i}`);
      for (const [i, key] of keys.entries()) await limiter.allow(key, 'counted', (i + 1) * 1_000);
      proxy.hold();
      const asked = [];
      for (const key of keys) {
        asked.push(limiter.allow(key, 'counted'));
        await nextTurn();
      }
      await until('the answers', () => proxy.heldText.split('*').length > keys.length);
      proxy.letGo((answers) => Buffer.from(rewrite(answers.toString('latin1')), 'latin1'));
      const got = (await Promise.all(asked)).map(({ remainingTokens }) => remainingTokens);
      const own = keys.map((_, i) => CAPACITY - (i + 1) * 1_000 - 1);
      expect(got).toEqual(got.map((one, i) => (one === Infinity ? one : own[i])));
    });

    it('does not make a holder give up its slot', async () => {
      const { limiter } = await stage.app(proxy.url, { plans: PLANS, ...PATIENT });
      const lease = await limiter.acquire('ada', 'slots');
      proxy.rewriteNext((reply) => Buffer.concat([Buffer.from('*1\r\n:0\r\n'), reply]));
      expect(await lease.renew()).toBe(true);
      await until('the socket to be dropped', () => proxy.connections === 2);
    });
  });

  describe('slots and a Redis that hangs', () => {
    it('an acquire that was not answered is taken back', async () => {
      const { limiter } = await stage.app(server.url, { plans: PLANS });
      // Only the scripts that the server knows are carried out afterwards.
      await (await limiter.acquire('warm', 'slots')).release();
      await server.signal('SIGSTOP');
      const asked = [];
      for (let i = 0; i < 5; i++) {
        asked.push(limiter.acquire('ada', 'slots'));
        await nextTurn();
      }
      for (const { reason } of await Promise.all(asked)) expect(reason).toBe('FAIL_OPEN');
      await server.signal('SIGCONT');
      await shared(limiter);
      await pause(300);
      expect(await free(limiter)).toBe(5);
    });

    it.each([0, 100])('a release %d ms into it is carried out afterwards', async (afterMs) => {
      const { limiter } = await stage.app(server.url, { plans: PLANS });
      const leases = await Promise.all([1, 2, 3, 4, 5].map(() => limiter.acquire('ada', 'slots')));
      await server.signal('SIGSTOP');
      if (afterMs > 0) await Promise.all([1, 2, 3].map(() => limiter.allow('a', 'counted')));
      await Promise.all(leases.map((lease) => lease.release()));
      await server.signal('SIGCONT');
      await shared(limiter);
      await pause(300);
      expect(await free(limiter)).toBe(5);
    });

    it('an acquire whose answer was cut off is taken back', async () => {
      const { limiter } = await stage.app(proxy.url, { plans: PLANS });
      await limiter.acquire('bob', 'slots');
      proxy.rewriteNext(() => undefined);
      expect((await limiter.acquire('ada', 'slots')).reason).toBe('FAIL_OPEN');
      await shared(limiter);
      await pause(300);
      expect(await free(limiter)).toBe(5);
    });
  });

  it('SCRIPT FLUSH over and over loses no decision', async () => {
    const { limiter, lines } = await stage.app(server.url, { plans: PLANS, ...PATIENT });
    const load = new Load(limiter);
    await until('steady', () => load.isSteady);
    for (let i = 0; i < 2_000; i++) {
      await admin.script('FLUSH');
      if (i % 4 === 0) await nextTurn();
    }
    await load.stop();
    expect([load.count('FAIL_OPEN'), lines]).toEqual([0, []]);
    for (const [key, count] of load.admitted('roomy')) {
      const { remainingTokens } = await limiter.peek(key, 'roomy');
      expect(remainingTokens).toBe(LOAD_PLANS.roomy.capacity - count);
    }
  });

  describe('a process that closes its application', () => {
    it.each(['SIGKILL', 'SIGSTOP'] as const)('has nothing left open, %s or not', async (signal) => {
      const app = await startApp({ redis: server.url, plans: PLANS });
      await app.call('allow', 'ada', 'gold');
      await server.signal(signal);
      await app.call('allow', 'ada', 'gold');
      const left = (await app.call('close')) as string[];
      await app.end();
      expect(left.filter((one) => /Timeout|TCP|Immediate/.test(one))).toEqual([]);
    });
  });

  it('a slot whose holder died is free again soon, also when the clock goes back', async () => {
    const clock = new ShiftedClock();
    const hand = clock.hand('only');
    const shifted = await stage.server([], hand.env);
    const plans = { slots: { maxConcurrent: 1, leaseMs: 300 } };
    const holder = await startApp({ redis: shifted.url, plans });
    await holder.call('acquire', 'ada', 'slots');
    await holder.end();
    hand.setMs(-3_600_000);
    const { limiter } = await stage.app(shifted.url, { plans, ...PATIENT });
    expect((await limiter.acquire('ada', 'slots')).retryAfterMs).toBeLessThanOrEqual(300);
    await until('its lease to end', async () => (await limiter.acquire('ada', 'slots')).allowed);
    clock.remove();
  });

  it.each(['gold', 'window'])('a %s of a later version is left alone by a refund', async (plan) => {
    const { limiter } = await stage.app(server.url, { plans: PLANS, ...PATIENT });
    await limiter.allow('eve', plan);
    const name = `rate_limiter:${plan}:{eve}`;
    await admin.hset(name, { v: '2' });
    const before = await admin.hgetallBuffer(name);
    await limiter.refund('eve', plan);
    expect(await admin.hgetallBuffer(name)).toEqual(before);
  });

  it('a key that cannot be read is told about, once', async () => {
    const { limiter, lines } = await stage.app(server.url, { plans: PLANS, ...PATIENT });
    await admin.set('rate_limiter:gold:{eve}', 'x', 'EX', 60);
    for (let i = 0; i < 5; i++) await limiter.allow('eve', 'gold');
    expect(lines).toHaveLength(1);
  });

  it('the reason that is logged is a sentence', async () => {
    const { limiter, lines } = await stage.app(server.url, { plans: PLANS });
    const load = new Load(limiter);
    await until('steady', () => load.isSteady);
    for (let i = 0; i < 10; i++) {
      await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await pause(150);
    }
    await load.stop();
    expect(lines.filter((line) => line.includes('Stream isn'))).toEqual([]);
  });
});
