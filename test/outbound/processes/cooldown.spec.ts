import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Callers, nowMs } from './callers.js';
import { overshootOf, permitsOf } from './outcome.js';

const RULE = { requestsPerSecond: 50, burstCapacity: 5 };
const COOLDOWN_MS = 1_000;
const PROCESSES = 4;
const SITE = 'site.example';

describe('four processes that a domain blocks', () => {
  let callers: Callers;

  beforeEach(async () => {
    const throttle = { minCooldownMs: COOLDOWN_MS, maxCooldownMs: COOLDOWN_MS + 100 };
    callers = await Callers.start(PROCESSES, { default: RULE, throttle });
    await callers.call({ domain: 'warm.example', calls: 5 });
  }, 60_000);

  afterEach(() => callers.end());

  it.each([
    { calls: 10, queue: 'shorter' },
    { calls: 50, queue: 'longer' },
  ])(
    'cool down together once, with a queue that is $queue',
    async ({ calls }) => {
      const calling = callers.call({ domain: SITE, calls });
      await pause(300);
      const beforeMs = nowMs();
      await callers.reportBlocks(SITE, 5);
      const afterMs = nowMs();
      const { outcomes, lateMs } = await calling;
      const permits = permitsOf(outcomes);
      expect(permits).toHaveLength(PROCESSES * calls);

      const stats = await callers.throttleStats(SITE);
      expect(stats.reduce((sum, { cooldownsOpened }) => sum + cooldownsOpened, 0)).toBe(1);
      for (const heard of await callers.cooldowns()) expect(heard.length).toBeGreaterThan(0);

      const quietUntilMs = beforeMs + COOLDOWN_MS;
      const inBetween = permits.filter(
        ({ atMs }) => atMs > afterMs + lateMs && atMs < quietUntilMs,
      );
      expect(inBetween).toEqual([]);

      const [probe, ...others] = permits.filter(({ atMs }) => atMs >= quietUntilMs);
      expect(probe!.isProbe).toBe(true);
      expect(probe!.atMs).toBeLessThan(afterMs + COOLDOWN_MS + 100 + 2 * lateMs + 200);
      expect(others.some(({ isProbe }) => isProbe)).toBe(false);
      expect(others.length).toBeGreaterThan(10);
      const lateTokens = (RULE.requestsPerSecond * lateMs) / 1_000;
      expect(overshootOf([probe!, ...others], { ...RULE, burstCapacity: 1 })).toBeLessThanOrEqual(
        lateTokens,
      );
      const neededMs = (1_000 * others.length) / RULE.requestsPerSecond;
      expect(others.at(-1)!.atMs - probe!.atMs).toBeLessThan(neededMs + 2 * lateMs + 200);
    },
    60_000,
  );
});
