import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { FailurePolicy } from '../../../lib/index.js';
import { Callers, nowMs } from './callers.js';
import { permitsOf, rateOf } from './outcome.js';

const RULE = { requestsPerSecond: 100, burstCapacity: 5 };
const SITE = 'site.example';
const EARLIER = 100;
const LATER = 50;

describe('two processes whose Redis is killed while hundreds wait', () => {
  let callers: Callers;

  afterEach(() => callers.end());

  /** Some wait when Redis is killed, others come while it is away. */
  async function playOutage(onStoreFailure: FailurePolicy) {
    callers = await Callers.start(2, { default: RULE, onStoreFailure });
    await callers.call({ domain: 'warm.example', calls: 5 });
    const earlier = callers.call({ domain: SITE, calls: EARLIER });
    await pause(500);
    await callers.server.kill();
    const killedMs = nowMs();
    const later = callers.call({ domain: SITE, calls: LATER });
    await pause(1_000);
    await callers.server.start();
    const backMs = nowMs();
    const [first, second] = [await earlier, await later];
    return { killedMs, backMs, earlier: first.outcomes, later: second.outcomes };
  }

  /** Whoever comes when Redis is back finds the whole rate. */
  async function expectFullRate(): Promise<void> {
    const { outcomes, lateMs } = await callers.call({ domain: SITE, calls: EARLIER });
    const permits = permitsOf(outcomes);
    expect(permits).toHaveLength(2 * EARLIER);
    expect(rateOf(permits, RULE, lateMs)).toBeGreaterThanOrEqual(94);
    expect(rateOf(permits, RULE, -lateMs)).toBeLessThanOrEqual(102);
  }

  it('wait on by the limits of each alone, and share them again', async () => {
    const { killedMs, backMs, earlier, later } = await playOutage('local');
    expect(permitsOf([...earlier, ...later])).toHaveLength(2 * (EARLIER + LATER));
    const without = permitsOf([...earlier, ...later]).filter(
      ({ atMs }) => atMs > killedMs && atMs < backMs,
    );
    // Booked before, or booked in one of the two processes.
    const seconds = (backMs - killedMs) / 1_000;
    const most = 3 * RULE.requestsPerSecond * seconds + 2 * RULE.burstCapacity;
    expect(without.length).toBeLessThanOrEqual(most + 10);
    expect(without.length).toBeGreaterThan(RULE.requestsPerSecond * 0.5);
    await expectFullRate();
  }, 60_000);

  it('let whoever comes go at once under `open`', async () => {
    const { killedMs, backMs, earlier, later } = await playOutage('open');
    const permits = permitsOf([...earlier, ...later]);
    expect(permits).toHaveLength(2 * (EARLIER + LATER));
    const without = permits.filter(({ atMs }) => atMs > killedMs && atMs < backMs);
    expect(without.length).toBeGreaterThanOrEqual(2 * LATER);
    await expectFullRate();
  }, 60_000);

  it('refuse whoever comes under `closed`, and keep to the turns that were booked', async () => {
    const { backMs, earlier, later } = await playOutage('closed');
    expect(permitsOf(earlier)).toHaveLength(2 * EARLIER);
    expect(later.every(({ error }) => error === 'OutboundUnavailableError')).toBe(true);
    expect(Math.max(...later.map(({ atMs }) => atMs))).toBeLessThan(backMs);
    await expectFullRate();
  }, 60_000);
});
