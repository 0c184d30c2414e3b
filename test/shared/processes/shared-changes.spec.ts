import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { describeWithServers } from '../../support/describe-with-servers.js';
import { expectAllKeysExpire } from '../../support/expect-all-keys-expire.js';
import type { Farm } from '../../support/redis-servers.js';
import { createFarm, until } from '../../support/redis-servers.js';

interface AppProcess {
  call(method: string, ...args: unknown[]): Promise<unknown>;
  end(): Promise<void>;
}

interface Answer {
  readonly allowed: boolean;
  readonly remainingTokens: number;
}

const APP_PROCESSES: string = '../../support/app-processes.mjs';
const { startApp } = (await import(APP_PROCESSES)) as {
  startApp: (options: object, script: string) => Promise<AppProcess>;
};
const SCRIPT = join(import.meta.dirname, 'member.mjs');
/** By when the other process has to obey. */
const REACHES_IN_MS = 1_000;
/** Refills so slowly that nothing comes back during the test. */
const SLOW = { tokensPerSecond: 1e-6 };
/** Is full again before it is asked for once more. */
const FAST = { capacity: 5, tokensPerSecond: 10_000 };

// Processes and servers take their time on a busy machine.
jest.setTimeout(60_000);

describeWithServers('native server', 'plans and rules of two processes', () => {
  let farm: Farm;
  let server: Awaited<ReturnType<Farm['single']>>;
  let processes: AppProcess[];
  let one: AppProcess;
  let other: AppProcess;

  beforeEach(async () => {
    farm = createFarm();
    server = await farm.single();
    processes = [];
    [one, other] = await Promise.all([start(), start()]);
  });

  afterEach(async () => {
    for (const process of processes) await process.end();
    await farm.stop();
  });

  async function start(): Promise<AppProcess> {
    const options = {
      // Busy processes on few processors wait for each other longer than any usual deadline.
      ...{ redis: server.url, deadlineMs: 5_000, sharedChanges: true },
      plans: { gold: { capacity: 2, ...SLOW }, silver: { capacity: 1, ...SLOW } },
      outbound: { domains: { 'site.example': { requestsPerSecond: 1, burstCapacity: 1 } } },
    };
    const process = await startApp(options, SCRIPT);
    processes.push(process);
    return process;
  }

  const take = (process: AppProcess, plan: string, key = 'ada') =>
    process.call('limiter.allow', key, plan) as Promise<Answer>;
  const isAllowed = async (process: AppProcess, plan: string, key?: string) =>
    (await take(process, plan, key)).allowed;

  /** What comes true soon enough. */
  async function soon(what: string, condition: () => Promise<boolean>): Promise<void> {
    const fromMs = performance.now();
    await until(what, condition);
    expect(performance.now() - fromMs).toBeLessThan(REACHES_IN_MS);
  }

  it('are obeyed by both within a second, and what was denied before is forgotten', async () => {
    for (const process of [one, other]) {
      expect(await isAllowed(process, 'silver', 'bob')).toBe(process === one);
      expect(await isAllowed(process, 'silver', 'bob')).toBe(false);
    }
    // Denied from the cache of each: Redis is not asked for ten seconds.
    expect(await other.call('plans.set', 'silver', FAST)).toBe(true);
    await soon('the plan', async () => (await peek(one, 'silver', 'ada')) === 5);
    for (const process of [one, other]) {
      expect(await isAllowed(process, 'silver', 'bob')).toBe(true);
    }
    expect(await one.call('plans.set', 'silver', { limit: 1, windowMs: 60_000 })).toBe(true);
    expect(await isAllowed(one, 'silver', 'bob')).toBe(true);
    expect(await isAllowed(one, 'silver', 'bob')).toBe(false);
    await soon('the other plan', async () => (await peek(other, 'silver', 'eve')) === 1);
    await one.call('plans.set', 'silver', { capacity: -1, ...SLOW });
    await soon('no limit', () => isAllowed(other, 'silver', 'bob'));
    expect(await isAllowed(one, 'silver', 'bob')).toBe(true);
  });

  it('keep what was spent, whatever kind of plan comes next', async () => {
    expect(await isAllowed(one, 'silver', 'bob')).toBe(true);
    expect(await one.call('plans.set', 'silver', { limit: 3, windowMs: 60_000 })).toBe(true);
    await soon('the plan', async () => (await peek(other, 'silver', 'ada')) === 3);
    for (const process of [one, other]) {
      expect(await isAllowed(process, 'silver', 'bob')).toBe(false);
    }
    expect(await other.call('plans.set', 'silver', { capacity: 5, ...SLOW })).toBe(true);
    await soon('the other plan', async () => (await peek(one, 'silver', 'ada')) === 5);
    for (const process of [one, other]) {
      expect(await isAllowed(process, 'silver', 'bob')).toBe(false);
    }
  });

  const peek = async (process: AppProcess, plan: string, key: string) =>
    ((await process.call('limiter.peek', key, plan)) as Answer).remainingTokens;

  it('are added, removed, and reverted to those of the code', async () => {
    await one.call('plans.set', 'extra', '7/minute', { note: 'for the sale' });
    await soon('the plan', async () => peek(other, 'extra', 'ada').then((left) => left === 7, no));
    await other.call('plans.remove', 'gold');
    const isUnknown = (error: Error) => error.message.includes('UNKNOWN_PLAN: Unknown plan "gold"');
    await soon('its end', () => take(one, 'gold').then(no, isUnknown));
    expect(await one.call('plans.revert', 'gold')).toBe(true);
    await soon('its return', async () => peek(other, 'gold', 'eve').then((left) => left === 2, no));
    expect(await one.call('plans.revert', 'gold')).toBe(false);
    await expect(one.call('plans.set', 'gold', { capacity: -5 })).rejects.toThrow('INVALID_PLAN');
  });

  it('survive a restart of every process, and of the connection', async () => {
    await one.call('plans.set', 'gold', { capacity: 9, ...SLOW });
    await Promise.all([one.end(), other.end()]);
    const third = await start();
    expect(await peek(third, 'gold', 'ada')).toBe(9);
    const admin = new Redis(server.url);
    const fourth = await start();
    await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await fourth.call('plans.set', 'gold', { capacity: 8, ...SLOW });
    await soon('the change', async () => (await peek(third, 'gold', 'ada')) === 8);
    await expectAllKeysExpire(admin);
    admin.disconnect();
  });

  it('stay as they are while Redis is away, and are written again when it comes back empty', async () => {
    await one.call('plans.set', 'gold', { capacity: 9, ...SLOW });
    await soon('the change', async () => (await peek(other, 'gold', 'ada')) === 9);
    await server.kill();
    await expect(one.call('plans.set', 'gold', { capacity: 3, ...SLOW })).rejects.toThrow(
      /^CHANGE_UNAVAILABLE: The plans could not be changed: \S/,
    );
    await server.start();
    await until('a change', () => one.call('plans.set', 'extra', '7/minute').then(yes, no));
    await until('the other', async () =>
      peek(other, 'extra', 'ada').then((left) => left === 7, no),
    );
    expect(await peek(other, 'gold', 'eve')).toBe(9);
    expect(await peek(await start(), 'gold', 'eve')).toBe(9);
  });

  it('lose no change of many that are made at once', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `plan-${i}`);
    await Promise.all(
      names.map((name, i) => (i % 2 ? one : other).call('plans.set', name, '3/minute')),
    );
    for (const process of [one, other]) {
      await until('all plans', async () =>
        Promise.all(names.map((name) => peek(process, name, 'ada'))).then(yes, no),
      );
    }
  });

  it('are the rules of outbound calls, too', async () => {
    const isFree = async (process: AppProcess) =>
      ((await process.call('outbound.allow', 'site.example')) as Answer).allowed;
    expect(await isFree(one)).toBe(true);
    expect(await isFree(other)).toBe(false);
    const fast = { requestsPerSecond: 1_000, burstCapacity: 50 };
    expect(await one.call('rules.set', 'https://SITE.example/', fast)).toBe(true);
    await soon('the rule', () => isFree(other));
    for (let i = 0; i < 10; i++) expect(await isFree(one)).toBe(true);
    await other.call('rules.remove', 'site.example');
    await other.call('rules.set', 'default', { ...fast, maxConcurrent: 0 });
    await soon('no calls', async () => !(await isFree(one).catch(() => false)));
    await one.call('rules.revert', 'site.example');
    await one.call('rules.revert', 'default');
    await until('the rule of the code', () => isFree(other));
    expect(await isFree(one)).toBe(false);
  });
});

const yes = () => true;
const no = () => false;
