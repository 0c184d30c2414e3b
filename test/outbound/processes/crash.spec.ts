import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '../../support/redis-servers.js';
import { Callers, nowMs } from './callers.js';
import { orderOf, overshootOf, permitsOf, rateOf } from './outcome.js';

const SITE = 'site.example';
const SLOTS = `rate_limiter:_outbound_slots:{${SITE}}:leases`;
const LEASE_MS = 12_000;

describe('a process that is killed', () => {
  let callers: Callers;

  afterEach(() => callers.end());

  /** Begins calls in the first process that will never be through. */
  function beginInVain(calls: number, holdMs: number): void {
    callers.call({ domain: SITE, calls, holdMs }, [callers.processes[0]!]).catch(() => undefined);
  }

  async function slotsTaken(count: number): Promise<void> {
    await until('the slots to be taken', async () => (await callers.admin.zcard(SLOTS)) === count);
  }

  it('wastes its turns and nothing else', async () => {
    const rule = { requestsPerSecond: 40, burstCapacity: 5 };
    callers = await Callers.start(2, { default: rule });
    const [victim, survivor] = callers.processes;
    await callers.call({ domain: 'warm.example', calls: 5 });
    beginInVain(60, 0);
    const calling = callers.call({ domain: SITE, calls: 60 }, [survivor!]);
    await pause(500);
    victim!.kill('SIGKILL');
    const first = await calling;
    const permits = permitsOf(first.outcomes);
    expect(orderOf(permits, 0)).toEqual(Array.from({ length: 60 }, (_, index) => index));
    // Behind all turns of the other at worst.
    const longestMs = (1_000 * (120 - rule.burstCapacity)) / rule.requestsPerSecond;
    expect(permits.at(-1)!.atMs - permits[0]!.atMs).toBeLessThan(longestMs + first.lateMs + 50);

    // Until the last turn of the dead is over and the burst is back.
    await pause(Math.max(0, permits[0]!.atMs + longestMs + 300 - nowMs()));
    const { outcomes, lateMs } = await callers.call({ domain: SITE, calls: 60 }, [survivor!]);
    const next = permitsOf(outcomes);
    expect(rateOf(next, rule, lateMs)).toBeGreaterThanOrEqual(39);
    const lateTokens = (rule.requestsPerSecond * lateMs) / 1_000;
    expect(overshootOf(next, rule)).toBeLessThanOrEqual(lateTokens);
  }, 60_000);

  it('leaves the slots that it does not hold to the others', async () => {
    const rule = { requestsPerSecond: 500, burstCapacity: 50, maxConcurrent: 4 };
    callers = await Callers.start(2, { default: rule });
    const [victim, survivor] = callers.processes;
    await callers.call({ domain: 'warm.example', calls: 5 });
    beginInVain(2, LEASE_MS);
    await slotsTaken(2);
    victim!.kill('SIGKILL');
    const fromMs = nowMs();
    const { outcomes } = await callers.call({ domain: SITE, calls: 40, holdMs: 10 }, [survivor!]);
    expect(permitsOf(outcomes)).toHaveLength(40);
    // Twenty pairs of ten milliseconds, and no waiting for a lease.
    expect(nowMs() - fromMs).toBeLessThan(10_000);
  }, 60_000);

  it('gives its slots back when their lease ends', async () => {
    const rule = { requestsPerSecond: 500, burstCapacity: 50, maxConcurrent: 4 };
    callers = await Callers.start(2, { default: rule });
    const [victim, survivor] = callers.processes;
    await callers.call({ domain: 'warm.example', calls: 5 });
    // Four calls hold slots; more are waiting for one.
    beginInVain(10, LEASE_MS);
    await slotsTaken(4);
    const calling = callers.call({ domain: SITE, calls: 8, holdMs: 10 }, [survivor!]);
    victim!.kill('SIGKILL');
    await pause(500);
    expect(await callers.waiting(SITE, [survivor!])).toEqual([8]);

    const [seconds, microseconds] = await callers.admin.time();
    const redisMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
    const leases = await callers.admin.zrange(SLOTS, '0', '-1', 'WITHSCORES');
    const endsMs = leases.filter((_, i) => i % 2 === 1).map((score) => Number(score) / 1_000);
    expect(endsMs).toHaveLength(4);
    for (const endMs of endsMs) {
      expect(endMs - redisMs).toBeGreaterThan(LEASE_MS - 5_000);
      expect(endMs - redisMs).toBeLessThanOrEqual(LEASE_MS);
    }
    // Ten seconds later, without waiting for it.
    const soonUs = Math.round((redisMs + 400) * 1_000);
    const ids = leases.filter((_, i) => i % 2 === 0);
    for (const id of ids) await callers.admin.zadd(SLOTS, soonUs, id);
    const fromMs = nowMs();
    const { outcomes } = await calling;
    const permits = permitsOf(outcomes);
    expect(permits).toHaveLength(8);
    expect(permits[0]!.atMs - fromMs).toBeGreaterThan(300);
    expect(permits.at(-1)!.atMs - fromMs).toBeLessThan(10_000);
  }, 60_000);
});
