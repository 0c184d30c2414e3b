import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { RateLimiter } from '../../lib/index.js';
import { Load } from '../support/load.js';
import { expectAllKeysExpire } from '../support/expect-all-keys-expire.js';
import { until } from '../support/redis-servers.js';
import { describeWithServers } from '../support/describe-with-servers.js';
import { faultReport } from './fault-report.js';
import type { Server } from './stage.js';
import { expectHarmless, playUnderLoad, Stage } from './stage.js';

const report = faultReport('Redis');
const DOWN = /^Limits are no longer shared: Redis does not answer \(/;
const UP = /^Limits are shared again: Redis was away for \d+\.\d s, \d+ decisions/;

const PLANS = {
  gold: { capacity: 5, tokensPerSecond: 0.001 },
  strict: { capacity: 5, tokensPerSecond: 0.001, onStoreFailure: 'closed' },
  trial: { capacity: 5, tokensPerSecond: 0.001, onStoreFailure: 'closed', shadow: true },
  alone: { capacity: 5, tokensPerSecond: 0.001, onStoreFailure: 'local' },
} as const;

describeWithServers('native server', 'a Redis that', () => {
  let stage: Stage;
  let folder: string;

  beforeEach(() => {
    stage = new Stage();
    folder = mkdtempSync(join(tmpdir(), 'floodgate-crash-'));
  });

  afterEach(async () => {
    await stage.end();
    rmSync(folder, { recursive: true, force: true });
  });

  it('is killed under load costs nobody anything, and what it has counted still counts', async () => {
    const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--dir', folder];
    const server = await stage.server(durable);
    const { limiter, lines } = await stage.app(server.url);
    const outcome = await playUnderLoad(limiter, {
      name: 'is killed (SIGKILL) and started again (appendfsync always)',
      strike: () => server.signal('SIGKILL'),
      heal: () => server.restart(),
    });
    expectHarmless(outcome);
    expect(outcome.load.count('FAIL_OPEN')).toBeGreaterThan(100);
    expectToldInTurns(lines);
    await expectAllKeysExpire(stage.admin(server));
    report(outcome.row);
  });

  it('hangs costs those in flight the deadline, and the others nothing', async () => {
    const server = await stage.server();
    const { limiter, lines } = await stage.app(server.url);
    const callers = 20;
    const outcome = await playUnderLoad(limiter, {
      name: 'hangs (SIGSTOP)',
      strike: () => server.signal('SIGSTOP'),
      heal: () => server.signal('SIGCONT'),
      load: { callers },
    });
    expectHarmless(outcome);
    const { load } = outcome;
    expect(load.count('FAIL_OPEN')).toBeGreaterThan(100);
    // Each caller once; twice leaves room for a machine that is busy.
    expect(load.waitedInVain(25)).toBeLessThanOrEqual(2 * callers);
    expectToldInTurns(lines);
    await expectAllKeysExpire(stage.admin(server));
    report(outcome.row);
  });

  it('is absent at start lets the application start, and is used once it is there', async () => {
    const server = await stage.server();
    await server.signal('SIGKILL');
    const beforeMs = performance.now();
    const { limiter, lines } = await stage.app(server.url);
    expect(performance.now() - beforeMs).toBeLessThan(2_000);
    const load = new Load(limiter);
    await until('some calls', () => load.calls > 100);
    expect(load.count('FAIL_OPEN')).toBe(load.calls);
    expect(lines).toEqual([expect.stringMatching(DOWN)]);
    const { longestWaitMs } = load;
    expect(longestWaitMs).toBeLessThan(5 + 2 * load.lagMs);
    await server.restart();
    const healedMs = performance.now();
    await until('recovery', () => load.isSteady);
    await load.stop();
    expect(load.errors).toEqual([]);
    const recoveryMs = load.failedUntilMs(healedMs);
    expect(recoveryMs).toBeLessThan(1_000);
    expectToldInTurns(lines);
    const { overAdmission } = load;
    report({ fault: 'is absent at start', longestWaitMs, errors: 0, recoveryMs, overAdmission });
  });

  it('hangs at start lets the application start, and is used once it answers', async () => {
    const server = await stage.server();
    await server.signal('SIGSTOP');
    const { limiter } = await stage.app(server.url);
    expect((await limiter.allow('ada', 'tight')).reason).toBe('FAIL_OPEN');
    const healedMs = performance.now();
    await server.signal('SIGCONT');
    await untilShared(limiter);
    expect(performance.now() - healedMs).toBeLessThan(1_000);
  });

  it('is away for a while at a high rate is told about twice, not once per request', async () => {
    const server = await stage.server();
    const { limiter, lines } = await stage.app(server.url);
    const { load } = await playUnderLoad(limiter, {
      name: 'away',
      strike: () => server.signal('SIGKILL'),
      heal: () => server.restart(),
      lastsMs: 1_000,
      load: { callers: 50, pauseMs: 5 },
    });
    expect(load.count('FAIL_OPEN')).toBeGreaterThan(2_000);
    expectToldInTurns(lines);
  });

  describe('is away', () => {
    let server: Server;
    let limiter: RateLimiter;
    let lines: string[];

    beforeEach(async () => {
      server = await stage.server();
      ({ limiter, lines } = await stage.app(server.url, { plans: PLANS }));
      await server.signal('SIGKILL');
      await until(
        'the end to be noticed',
        async () => (await limiter.allow('x', 'gold')).reason === 'FAIL_OPEN',
      );
    });

    it('lets pass, denies or limits locally, as each plan says, and tells it once', async () => {
      expect(await limiter.allow('ada', 'gold', 5)).toMatchObject({
        allowed: true,
        reason: 'FAIL_OPEN',
      });
      expect(await limiter.allow('ada', 'strict')).toMatchObject({
        allowed: false,
        reason: 'FAIL_CLOSED',
      });
      expect(await limiter.allow('ada', 'alone', 4)).toMatchObject({
        allowed: true,
        reason: 'FAIL_LOCAL',
      });
      expect(await limiter.allow('ada', 'alone', 4)).toMatchObject({
        allowed: false,
        reason: 'FAIL_LOCAL',
      });
      expect(lines).toEqual([expect.stringMatching(DOWN)]);
    });

    it('is no reason for a shadow plan to deny', async () => {
      expect(await limiter.allow('ada', 'trial')).toMatchObject({
        allowed: true,
        reason: 'FAIL_OPEN',
      });
      expect(await limiter.allow('ada', ['trial', 'gold'])).toMatchObject({ allowed: true });
      expect(await limiter.allow('ada', ['trial', 'strict'])).toMatchObject({ allowed: false });
    });
  });
});

async function untilShared(limiter: RateLimiter): Promise<void> {
  await until(
    'Redis to decide',
    async () => (await limiter.allow('back', 'roomy')).reason === 'ALLOWED',
  );
}

/** Once down, once up; a machine that is busy may make Redis seem away once more. */
function expectToldInTurns(lines: readonly string[]): void {
  expect(lines.length).toBeGreaterThanOrEqual(2);
  expect(lines.length).toBeLessThanOrEqual(4);
  for (const [i, line] of lines.entries()) expect(line).toMatch(i % 2 === 0 ? DOWN : UP);
}
