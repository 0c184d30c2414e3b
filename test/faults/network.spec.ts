import { setImmediate as nextTurn } from 'node:timers/promises';
import { performance } from 'node:perf_hooks';
import type { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { RateLimiter } from '../../lib/index.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { expectAllKeysExpire } from '../support/expect-all-keys-expire.js';
import { until } from '../support/redis-servers.js';
import { describeWithServers } from '../support/describe-with-servers.js';
import { faultReport } from './fault-report.js';
import type { Server } from './stage.js';
import { expectAllDecided, expectHarmless, PATIENT, playUnderLoad, Stage } from './stage.js';

const report = faultReport('network');

const CAPACITY = 1_000_000;
const PLANS = { counted: { capacity: CAPACITY, tokensPerSecond: 0.01 } };

describeWithServers('native server', 'a network that', () => {
  let stage: Stage;
  let server: Server;
  let admin: Redis;
  let proxy: TcpProxy;

  beforeEach(async () => {
    stage = new Stage();
    server = await stage.server(['--enable-debug-command', 'yes']);
    admin = stage.admin(server);
    proxy = await TcpProxy.to(server);
  });

  afterEach(async () => {
    await stage.end();
    await proxy.close();
  });

  it('cuts connections costs nobody anything', async () => {
    const { limiter } = await stage.app(proxy.url);
    const outcome = await playUnderLoad(limiter, {
      name: 'cuts the connection',
      strike: () => Promise.resolve(proxy.cut()),
      lastsMs: 0,
    });
    expectHarmless(outcome);
    expect(proxy.connections).toBe(2);
    await expectAllKeysExpire(admin);
    report(outcome.row);
  });

  it('falls silent costs those in flight the deadline, and the others nothing', async () => {
    const { limiter } = await stage.app(proxy.url);
    const outcome = await playUnderLoad(limiter, {
      name: 'falls silent, old connections and new ones',
      strike: () => Promise.resolve(proxy.fallSilent()),
      heal: () => Promise.resolve(proxy.speakAgain()),
    });
    expectHarmless(outcome);
    expect(outcome.load.waitedInVain(25)).toBeLessThanOrEqual(40);
    report(outcome.row);
  });

  it('loses a connection without telling is left for a new one within a second', async () => {
    const { limiter } = await stage.app(proxy.url);
    const outcome = await playUnderLoad(limiter, {
      name: 'loses the connection without telling (half-open)',
      strike: () => Promise.resolve(proxy.loseConnections()),
      lastsMs: 0,
    });
    expectHarmless(outcome);
    expect(outcome.load.waitedInVain(25)).toBeLessThanOrEqual(40);
    report(outcome.row);
  });

  it('is slow, but faster than the deadline, is only slow', async () => {
    const { limiter, lines } = await stage.app(proxy.url, PATIENT);
    const outcome = await playUnderLoad(limiter, {
      name: 'slow',
      strike: () => Promise.resolve((proxy.delayMs = 45)),
      heal: () => Promise.resolve((proxy.delayMs = 0)),
    });
    expectAllDecided(outcome);
    expect(outcome.load.longestWaitMs).toBeGreaterThanOrEqual(44);
    expect(lines).toEqual([]);
    expect(proxy.connections).toBe(1);
  });

  it('is slower than the deadline is not waited for, and connects no more than once again', async () => {
    const { limiter } = await stage.app(proxy.url);
    const outcome = await playUnderLoad(limiter, {
      name: 'is slower than the deadline (150 ms)',
      strike: () => Promise.resolve((proxy.delayMs = 150)),
      heal: () => Promise.resolve((proxy.delayMs = 0)),
      lastsMs: 700,
    });
    expectHarmless(outcome);
    expect(outcome.load.count('FAIL_OPEN')).toBeGreaterThan(100);
    expect(proxy.connections).toBe(2);
    report(outcome.row);
  });

  it('is fast to a server that is slow now and then changes nothing', async () => {
    const { limiter, lines } = await stage.app(server.url, PATIENT);
    const outcome = await playUnderLoad(limiter, {
      name: 'a slow command',
      strike: () => admin.call('DEBUG', 'SLEEP', '0.04'),
      lastsMs: 50,
    });
    expectAllDecided(outcome);
    expect(outcome.load.longestWaitMs).toBeGreaterThan(20);
    expect(lines).toEqual([]);
  });

  it('cuts the answer off has the request carried out once, not twice', async () => {
    const { limiter } = await stage.app(proxy.url, { plans: PLANS, ...PATIENT });
    await limiter.allow('ada', 'counted');
    proxy.rewriteNext(() => undefined);
    const beforeMs = performance.now();
    expect((await limiter.allow('ada', 'counted')).reason).toBe('FAIL_OPEN');
    // By the cut, long before the deadline.
    expect(performance.now() - beforeMs).toBeLessThan(PATIENT.deadlineMs / 2);
    await untilShared(limiter);
    expect((await limiter.peek('ada', 'counted')).remainingTokens).toBe(CAPACITY - 2);
  });

  it('answers garbage is dropped, and nobody gets the answer of somebody else', async () => {
    const { limiter } = await stage.app(proxy.url, { plans: PLANS, ...PATIENT });
    await expectOwnAnswers(limiter, (answers) => Buffer.concat([Buffer.from('@@@'), answers]));
    expect(proxy.connections).toBe(2);
  });

  /** Many ask in as many messages, the answers come changed, and each caller looks at what it got. */
  async function expectOwnAnswers(
    limiter: RateLimiter,
    rewrite: (answers: Buffer) => Buffer,
  ): Promise<void> {
    const keys = Array.from({ length: 12 }, (_, i) => `caller-${i}`);
    // Each has spent its own thousands, so that answers can be told apart.
    for (const [i, key] of keys.entries()) await limiter.allow(key, 'counted', (i + 1) * 1_000);
    proxy.hold();
    const asked = [];
    for (const key of keys) {
      asked.push(limiter.allow(key, 'counted'));
      await nextTurn();
    }
    await until('the answers', () => proxy.heldText.split('*').length > keys.length);
    proxy.letGo(rewrite);
    for (const [i, { reason, remainingTokens }] of (await Promise.all(asked)).entries()) {
      const own = reason === 'FAIL_OPEN' ? Infinity : CAPACITY - (i + 1) * 1_000 - 1;
      expect([i, remainingTokens]).toEqual([i, own]);
    }
    await untilShared(limiter);
    for (const [i, key] of keys.entries()) {
      const { remainingTokens } = await limiter.allow(key, 'counted');
      expect([i, remainingTokens]).toEqual([i, CAPACITY - (i + 1) * 1_000 - 2]);
    }
  }
});

async function untilShared(limiter: RateLimiter): Promise<void> {
  await until(
    'Redis to decide',
    async () => (await limiter.allow('back', 'roomy')).reason === 'ALLOWED',
  );
}
