import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { RateLimiter } from '../../lib/index.js';
import { describeWithServers } from '../support/describe-with-servers.js';
import { expectAllKeysExpire } from '../support/expect-all-keys-expire.js';
import type { App, Server } from './stage.js';
import { PATIENT, Stage } from './stage.js';

const YEAR_MS = 365 * 86_400_000;
const PLANS = {
  bucket: { capacity: 5, tokensPerSecond: 0.001 },
  window: { limit: 5, windowMs: 600_000 },
  slots: { maxConcurrent: 5, leaseMs: 600_000 },
  fastest: { capacity: 1, tokensPerSecond: 1_000_000 },
  shortest: { limit: 1, windowMs: 1 },
  slowest: { capacity: 1, tokensPerSecond: 1 / (10 * 365 * 86_400) },
  longest: { limit: 1, windowMs: 10 * YEAR_MS },
} as const;

const keyOf = (plan: string, key: string) => `rate_limiter:${plan}:{${key}}`;

describeWithServers('native server', 'a key of Redis', () => {
  let stage: Stage;
  let server: Server;
  let admin: Redis;
  let app: App;
  let limiter: RateLimiter;

  beforeEach(async () => {
    stage = new Stage();
    server = await stage.server();
    admin = stage.admin(server);
    app = await stage.app(server.url, { ...PATIENT, plans: PLANS });
    ({ limiter } = app);
  });

  afterEach(async () => {
    await expectAllKeysExpire(admin);
    await stage.end();
  });

  it.each([
    ['text', { t: 'abc', ts: 'abc', v: '1' }],
    ['nothing', { t: '', ts: '', v: '1' }],
    ['half of it', { t: doubleOf(3), v: '1' }],
    ['no number', { t: doubleOf(Number.NaN), ts: integerOf(1n), v: '1' }],
    ['endless tokens', { t: doubleOf(Infinity), ts: integerOf(1n), v: '1' }],
    ['endless debts', { t: doubleOf(-Infinity), ts: integerOf(1n), v: '1' }],
    ['no version', { t: 'abc', ts: '{"a":1}' }],
    ['a capacity that is none', { t: 'abc', ts: 'abc', v: '1', q: 'nan', x: 'abc' }],
  ])('that was spoilt by %s is a bucket that is new', async (_what, fields) => {
    await admin.hset(keyOf('bucket', 'ada'), fields);
    expect(await limiter.allow('ada', 'bucket', 3)).toMatchObject({
      reason: 'ALLOWED',
      remainingTokens: 2,
    });
    expect(await limiter.allow('ada', 'bucket', 3)).toMatchObject({ reason: 'LIMIT_EXCEEDED' });
  });

  it.each([
    ['text', { ws: 'abc', c: 'abc', p: 'abc', v: '1' }],
    ['nothing', { ws: '', c: '', p: '', v: '1' }],
    ['half of it', { c: '3', v: '1' }],
    ['no number', { ws: 'nan', c: 'nan', p: 'nan', v: '1' }],
    ['endless counts', { ws: '1', c: 'inf', p: '-inf', v: '1' }],
    ['a count below nothing', { ws: '1', c: '-100', p: '-100', v: '1' }],
  ])('that was spoilt by %s is a window that is new', async (_what, fields) => {
    await admin.hset(keyOf('window', 'ada'), fields);
    expect(await limiter.allow('ada', 'window', 3)).toMatchObject({
      reason: 'ALLOWED',
      remainingTokens: 2,
    });
    expect(await limiter.allow('ada', 'window', 3)).toMatchObject({ reason: 'LIMIT_EXCEEDED' });
  });

  it.each(['bucket', 'window'])(
    'that holds something else than a %s is left alone: who counts by it is let pass',
    async (plan) => {
      await admin.set(keyOf(plan, 'eve'), 'of somebody else', 'EX', 60);
      await expectLetPass('eve', plan);
      expect(await admin.get(keyOf(plan, 'eve'))).toBe('of somebody else');
    },
  );

  it('that holds something else than leases is left alone: who counts by it is let pass', async () => {
    await admin.set(`${keyOf('slots', 'eve')}:leases`, 'of somebody else', 'EX', 60);
    for (let i = 0; i < 5; i++) {
      const lease = await limiter.acquire('eve', 'slots');
      expect(lease).toMatchObject({ allowed: true, reason: 'FAIL_OPEN' });
      await lease.release();
    }
    expect((await limiter.acquire('ada', 'slots')).reason).toBe('ALLOWED');
  });

  it.each(['bucket', 'window'])(
    'that a later version wrote for a %s is left alone',
    async (plan) => {
      await limiter.allow('eve', plan);
      await admin.hset(keyOf(plan, 'eve'), { v: '2', x: 'of a later version' });
      const before = await admin.hgetallBuffer(keyOf(plan, 'eve'));
      await expectLetPass('eve', plan);
      expect(await admin.hgetallBuffer(keyOf(plan, 'eve'))).toEqual(before);
    },
  );

  it('of the fastest and of the slowest plan has a time to live that Redis can keep', async () => {
    for (const plan of ['fastest', 'shortest', 'slowest', 'longest']) {
      expect((await limiter.allow('ada', plan)).reason).toBe('ALLOWED');
    }
    const slowest = await admin.pttl(keyOf('slowest', 'ada'));
    expect(slowest).toBeGreaterThanOrEqual(10 * YEAR_MS - 60_000);
    expect(await admin.pttl(keyOf('longest', 'ada'))).toBeGreaterThanOrEqual(10 * YEAR_MS);
    expect((await limiter.allow('ada', 'slowest')).allowed).toBe(false);
  });

  it.each(['window', 'slots'])('that somebody persisted for a %s expires again', async (plan) => {
    const use = () => limiter.acquire('ada', plan);
    await use();
    const [name] = await admin.keys('*');
    await admin.persist(name!);
    await use();
    expect(await admin.pttl(name!)).toBeGreaterThan(0);
  });

  it('is short for the longest subject, and says nothing of it', async () => {
    const subject = 'x'.repeat(1_000_000);
    expect((await limiter.allow(subject, 'bucket', 5)).allowed).toBe(true);
    expect((await limiter.allow(subject, 'bucket', 5)).allowed).toBe(false);
    expect((await limiter.allow(`${subject}y`, 'bucket', 5)).allowed).toBe(true);
    for (const name of await admin.keys('*')) expect(name.length).toBeLessThan(200);
  });

  /** Over and over, without taking the server for dead, and without harm to others. */
  async function expectLetPass(key: string, plan: string): Promise<void> {
    for (let i = 0; i < 5; i++) {
      const [poisoned, healthy] = await Promise.all([
        limiter.allow(key, plan),
        limiter.allow('ada', plan),
      ]);
      expect(poisoned).toMatchObject({ allowed: true, reason: 'FAIL_OPEN' });
      expect(healthy.reason).toBe('ALLOWED');
    }
    expect(app.lines).toEqual([expect.stringMatching(/^A key of plan "\w+" in Redis holds/)]);
  }
});

function doubleOf(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes;
}

function integerOf(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(value);
  return bytes;
}
