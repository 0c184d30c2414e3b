import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { overshootOf } from '../outbound/processes/outcome.js';
import { nowMs } from '../outbound/processes/callers.js';
import { until } from '../support/redis-servers.js';
import type { Admission, TurnTaker } from './turn-takers.js';
import { TurnTakers } from './turn-takers.js';

/** For so long a process that died holds up the others at most. */
const HOLD_UP_MS = 5_000;
/** How long processes are halted and killed at random. */
const CHAOS_MS = Number(process.env['ATTACK_MS'] ?? 3_500);
/** Longer than it takes to be taken for dead. */
const HALTED_MS = [2_600, 3_600] as const;
const RULE = { requestsPerSecond: 20, burstCapacity: 2 };
/** Timers of a busy machine are late. */
const LATE_TIMER_MS = 100;

const opened: TurnTakers[] = [];

afterEach(async () => {
  for (const takers of opened.splice(0)) await takers.end();
});

async function createTakers(rule: typeof RULE): Promise<TurnTakers> {
  const takers = await TurnTakers.create(rule);
  opened.push(takers);
  return takers;
}

/** How long a process that ends in that way with 300 turns booked at one a second holds up another. */
async function holdUpMs(signal: NodeJS.Signals): Promise<number> {
  const takers = await createTakers({ requestsPerSecond: 1, burstCapacity: 1 });
  const [victim, other] = [await takers.start(), await takers.start()];
  const ask = () => other.call('allow') as Promise<{ allowed: boolean; retryAfterMs: number }>;
  await victim.call('keepWaiting', 300);
  await until('the calls to be booked', async () => (await ask()).retryAfterMs > 250_000);
  victim.kill(signal);
  const diedMs = nowMs();
  while (!(await ask()).allowed && nowMs() - diedMs < 2 * HOLD_UP_MS) await pause(50);
  return nowMs() - diedMs;
}

it('a process that ends with 300 turns booked holds nobody up for long', async () => {
  // Without shutdown hooks, SIGTERM ends a process as suddenly as SIGKILL.
  const heldUpMs = await Promise.all([holdUpMs('SIGKILL'), holdUpMs('SIGTERM')]);
  for (const ms of heldUpMs) expect(ms).toBeLessThan(HOLD_UP_MS);
}, 60_000);

function between([from, to]: readonly [number, number]): number {
  return from + Math.random() * (to - from);
}

/** Halts and kills processes at random, and replaces the killed; tells when each was lost. */
async function harass(living: TurnTaker[], start: () => Promise<TurnTaker>): Promise<number[]> {
  const endMs = nowMs() + CHAOS_MS;
  const lostMs: number[] = [];
  const resuming: Promise<void>[] = [];
  while (nowMs() < endMs) {
    if (living.length === 1) living.push(await start());
    const victim = living.splice(Math.floor(Math.random() * living.length), 1)[0]!;
    lostMs.push(nowMs());
    const isKilled = Math.random() < 0.5;
    victim.kill(isKilled ? 'SIGKILL' : 'SIGSTOP');
    if (isKilled) living.push(await start());
    else resuming.push(resumeLater(victim, living));
    await pause(between([200, 900]));
  }
  await Promise.all(resuming);
  return lostMs;
}

async function resumeLater(halted: TurnTaker, living: TurnTaker[]): Promise<void> {
  await pause(between(HALTED_MS));
  halted.kill('SIGCONT');
  living.push(halted);
}

/** The longest that nobody got a permit although nobody was lost meanwhile. */
function longestGapMs(admissions: readonly Admission[], lostMs: readonly number[]): number {
  const moments = [...admissions.map(({ atMs }) => atMs), ...lostMs, nowMs()];
  moments.sort((one, other) => one - other);
  return Math.max(...moments.slice(1).map((atMs, i) => atMs - moments[i]!));
}

for (const waiting of [8, 300]) {
  it(`processes that are halted and killed at random keep the rate, with ${waiting} calls waiting in each`, async () => {
    const takers = await createTakers(RULE);
    const start = async () => {
      const taker = await takers.start();
      await taker.call('keepWaiting', waiting);
      return taker;
    };
    const living = await Promise.all(Array.from({ length: 4 }, start));
    await until('the first permits', () => Promise.resolve(takers.admissions().length > 5));
    const lostMs = await harass(living, start);
    await pause(1_500);
    const admissions = takers.admissions();
    const permits = admissions.map((one) => {
      return { ...one, process: one.pid, tokens: 1, error: null, isProbe: false, waitedMs: 0 };
    });
    const over = overshootOf(permits, RULE);
    expect(over).toBeLessThanOrEqual((RULE.requestsPerSecond * LATE_TIMER_MS) / 1_000);
    expect(longestGapMs(admissions, lostMs)).toBeLessThan(HOLD_UP_MS);
    for (const pid of new Set(admissions.map((one) => one.pid))) {
      const order = admissions.filter((one) => one.pid === pid).map(({ index }) => index);
      expect(order).toEqual([...order].sort((one, other) => one - other));
    }
  }, 120_000);
}
