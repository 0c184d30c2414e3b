import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { faultReport } from '../faults/fault-report.js';
import type { Server } from '../faults/stage.js';
import { DEADLINE_MS, Stage } from '../faults/stage.js';
import { startApp } from '../support/app-processes.mjs';
import { describeWithServers } from '../support/describe-with-servers.js';
import { until } from '../support/redis-servers.js';

type Process = Awaited<ReturnType<typeof startApp>>;

/** What the application says of itself. */
interface Report {
  readonly handled: number;
  readonly late: number;
  readonly failedOpen: number;
  readonly longestWaitMs: number;
  readonly lagMs: number;
  readonly sharedAgainAtMs: number;
  readonly lines: readonly string[];
}

/** How often each answer came. */
type Statuses = Record<string, number>;

const APP = join(import.meta.dirname, 'flooded-app.mjs');
const FLOODER = join(import.meta.dirname, 'flooder.mjs');
/** `npm run attack` makes it longer. */
const FLOOD_MS = Number(process.env['ATTACK_MS'] ?? 1_500);
/** Under a flood, everything takes its time. */
const TIMEOUT_MS = FLOOD_MS + 60_000;

const PLANS = {
  all: { capacity: 100, tokensPerSecond: 100 },
  each: { capacity: 1_000, tokensPerSecond: 1_000 },
};
const ROOMY = {
  all: { capacity: 1_000_000, tokensPerSecond: 1 },
  each: { capacity: 1_000_000, tokensPerSecond: 1 },
};

const report = faultReport('application', 1);

jest.setTimeout(TIMEOUT_MS);

describeWithServers('native server', 'a process that', () => {
  const processes: Process[] = [];
  let stage: Stage;
  let redis: Server;

  beforeEach(async () => {
    stage = new Stage();
    redis = await stage.server();
    redis.prefer();
  });

  afterEach(async () => {
    await Promise.all(processes.splice(0).map((one) => one.end()));
    await stage.end();
  });

  const start = async (options: object, script: string): Promise<Process> => {
    const started = await startApp(options, script);
    processes.push(started);
    return started;
  };

  const startFlooded = async (plans: object, computeMs = 0) => {
    const app = await start({ limit: { redis: redis.url, plans }, computeMs }, APP);
    const clients = async (connections: number) =>
      start({ port: (await app.call('port')) as number, connections }, FLOODER);
    return { app, clients, reportOf: () => app.call('report') as Promise<Report> };
  };

  it('is flooded by 2 000 connections leaves every decision to Redis', async () => {
    const { clients, reportOf } = await startFlooded(PLANS);
    const flooder = await clients(2_000);
    const beganMs = Date.now();
    await flooder.call('begin');
    await until('the flood to be there', async () => (await reportOf()).handled > 100);
    await pause(FLOOD_MS);
    const statuses = (await flooder.call('end')) as Statuses;
    const seconds = (Date.now() - beganMs) / 1_000;
    const seen = await reportOf();
    expect(seen.failedOpen).toBe(0);
    expect(seen.lines).toEqual([]);
    expect(seen.handled).toBeLessThanOrEqual(100 + 100 * seconds + 1);
    expect(seen.handled).toBeGreaterThan(100);
    expect(Object.keys(statuses).sort()).toEqual(['200', '429']);
    const { longestWaitMs } = seen;
    const fault = 'is flooded by 2 000 connections';
    report({ fault, longestWaitMs, errors: 0, recoveryMs: null, overAdmission: 0 });
  });

  it('is flooded while Redis hangs waits no longer than the deadline and three turns', async () => {
    const { app, clients, reportOf } = await startFlooded(PLANS);
    const flooder = await clients(2_000);
    await flooder.call('begin');
    await until('the flood to be there', async () => (await reportOf()).handled > 100);
    await redis.signal('SIGSTOP');
    await until('the outage to be noticed', async () => (await reportOf()).lines.length > 0);
    const noticed = await reportOf();
    expect(noticed.longestWaitMs).toBeLessThan(DEADLINE_MS + 10 + 4 * noticed.lagMs);
    // From then on nobody waits: what was asked before is given up, and nothing is asked any more.
    await pause(4 * noticed.lagMs);
    await app.call('forget');
    const { failedOpen: before } = await reportOf();
    await until('more without Redis', async () => (await reportOf()).failedOpen > before + 1_000);
    const { late, handled } = await reportOf();
    expect(late).toBeLessThan(handled / 100);
    const healedAtMs = Date.now();
    await redis.signal('SIGCONT');
    await until('limits to be shared again', async () => (await reportOf()).lines.length > 1);
    const { sharedAgainAtMs, lagMs, lines } = await reportOf();
    expect(sharedAgainAtMs - healedAtMs).toBeLessThan(1_000 + 4 * lagMs);
    expect(lines).toEqual([
      expect.stringContaining('no longer shared'),
      expect.stringContaining('shared again'),
    ]);
    const { failedOpen } = await reportOf();
    await pause(500);
    await flooder.call('end');
    expect((await reportOf()).failedOpen).toBe(failedOpen);
    report({
      fault: 'is flooded by 2 000 connections while Redis hangs (SIGSTOP)',
      longestWaitMs: noticed.longestWaitMs,
      errors: 0,
      recoveryMs: sharedAgainAtMs - healedAtMs,
      overAdmission: 0,
    });
  });

  it('computes in its handlers leaves every decision to Redis', async () => {
    const { clients, reportOf } = await startFlooded(ROOMY, 60);
    const flooder = await clients(50);
    await flooder.call('begin');
    await until('requests', async () => (await reportOf()).handled > 50);
    await pause(FLOOD_MS);
    const statuses = (await flooder.call('end')) as Statuses;
    const seen = await reportOf();
    expect(seen.failedOpen).toBe(0);
    expect(seen.lines).toEqual([]);
    expect(Object.keys(statuses)).toEqual(['200']);
    const { longestWaitMs } = seen;
    const fault = 'computes for 60 ms in each handler, for 50 clients';
    report({ fault, longestWaitMs, errors: 0, recoveryMs: null, overAdmission: 0 });
  });

  it.each([200, 900, 3_000])('pauses for %i ms leaves every decision to Redis', async (ms) => {
    const { app, clients, reportOf } = await startFlooded(ROOMY);
    const flooder = await clients(20);
    await flooder.call('begin');
    await until('requests', async () => (await reportOf()).handled > 20);
    await app.call('compute', ms);
    const { handled } = await reportOf();
    await until('more requests', async () => (await reportOf()).handled > handled + 100);
    await flooder.call('end');
    const seen = await reportOf();
    expect(seen.lagMs).toBeGreaterThan(ms / 2);
    expect(seen.failedOpen).toBe(0);
    expect(seen.lines).toEqual([]);
  });
});
