import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { PlanDefinition } from '../../lib/core/plan.js';
import type { RateLimiter } from '../../lib/core/rate-limiter.js';

/** So slow that nothing comes back while a test runs, wherever it runs. */
export const SETTLING_PLANS = {
  bucket: '100/day',
  other: '1000/day',
  window: { limit: 100, windowMs: 86_400_000 },
  slots: { maxConcurrent: 2 },
  trial: { capacity: 5, tokensPerSecond: 0.0001, shadow: true },
} satisfies Record<string, PlanDefinition>;

export interface SettlingHost {
  readonly limiter: RateLimiter;
  close(): Promise<void>;
}

/** What settling a charge does, on any store. */
export function settlingContract(name: string, open: () => Promise<SettlingHost>): void {
  describe(`a charge in ${name}`, () => {
    let host: SettlingHost;
    let key: string;
    const left = async (plan: string) => (await host.limiter.peek(key, plan)).remainingTokens;

    beforeEach(async () => {
      host = await open();
      key = randomUUID();
    });

    afterEach(() => host.close());

    it.each(['bucket', 'window'])('is settled lower: the rest comes back (%s)', async (plan) => {
      const lease = await host.limiter.acquire(key, plan, 40);
      expect(await left(plan)).toBe(60);
      await lease.settle(plan, 15);
      expect(await left(plan)).toBe(85);
    });

    it.each(['bucket', 'window'])('is settled higher: the rest is charged (%s)', async (plan) => {
      const lease = await host.limiter.acquire(key, plan, 40);
      await lease.settle(plan, 70);
      expect(await left(plan)).toBe(30);
    });

    it.each(['bucket', 'window'])('is settled at nothing: all comes back (%s)', async (plan) => {
      const lease = await host.limiter.acquire(key, plan, 40);
      await lease.settle(plan, 0);
      expect(await left(plan)).toBe(100);
    });

    it.each(['bucket', 'window'])('is settled once, by the first call (%s)', async (plan) => {
      const lease = await host.limiter.acquire(key, plan, 40);
      await Promise.all([lease.settle(plan, 15), lease.settle(plan, 0), lease.settle(plan, 90)]);
      await lease.settle(plan, 0);
      expect(await left(plan)).toBe(85);
    });

    it('may leave a bucket in debt, which has to be paid before anybody passes', async () => {
      const lease = await host.limiter.acquire(key, 'bucket', 40);
      await lease.settle('bucket', 130);
      const { allowed, remainingTokens, retryAfterMs } = await host.limiter.peek(key, 'bucket');
      expect({ allowed, remainingTokens }).toEqual({ allowed: false, remainingTokens: 0 });
      // 30 tokens below zero, and one to spend.
      expect(retryAfterMs! / 864_000).toBeGreaterThan(30.9);
      expect(retryAfterMs! / 864_000).toBeLessThanOrEqual(31);
    });

    it('leaves a bucket in no more debt than it holds', async () => {
      const lease = await host.limiter.acquire(key, 'bucket', 100);
      await lease.settle('bucket', 1_000_000);
      const { retryAfterMs } = await host.limiter.peek(key, 'bucket');
      expect(retryAfterMs! / 864_000).toBeGreaterThan(100.9);
      expect(retryAfterMs! / 864_000).toBeLessThanOrEqual(101);
    });

    it('takes what is left of a sliding window, which cannot owe', async () => {
      const lease = await host.limiter.acquire(key, 'window', 40);
      await lease.settle('window', 130);
      expect(await left('window')).toBe(0);
      await lease.settle('window', 0);
      expect(await left('window')).toBe(0);
    });

    it('is settled for the plan that is named, and no other', async () => {
      const lease = await host.limiter.acquire(key, ['bucket', 'other', 'slots'], 40);
      await lease.settle('bucket', 10);
      expect([await left('bucket'), await left('other'), await left('slots')]).toEqual([
        90, 960, 1,
      ]);
      await lease.settle('other', 50);
      await lease.settle('slots', 0);
      await lease.settle('unheard-of', 0);
      expect([await left('bucket'), await left('other'), await left('slots')]).toEqual([
        90, 950, 1,
      ]);
      await lease.release();
    });

    it('of a rate is settled by the rate, however it is written', async () => {
      const lease = await host.limiter.acquire(key, '50 / 2 days', 40);
      await lease.settle('50/2days', 10);
      expect(await left('50/2days')).toBe(40);
    });

    it('that was refused is nothing to settle', async () => {
      await host.limiter.allow(key, 'bucket', 90);
      const lease = await host.limiter.acquire(key, 'bucket', 40);
      expect(lease.allowed).toBe(false);
      await lease.settle('bucket', 0);
      await lease.settle('bucket', 60);
      expect(await left('bucket')).toBe(10);
    });

    it('that a shadow plan would have refused does not come back to it', async () => {
      await host.limiter.allow(key, 'trial', 4);
      const lease = await host.limiter.acquire(key, ['trial', 'bucket'], 3);
      expect(lease.allowed).toBe(true);
      await lease.settle('trial', 0);
      const [trial] = (await host.limiter.peek(key, 'trial')).limits;
      expect(trial!.remaining).toBe(1);
    });

    it('that was settled is not cancelled, and its slots come back', async () => {
      const options = { maxWaitMs: 0, tokens: 40 };
      const turn = await host.limiter.reserve(key, ['bucket', 'slots'], options);
      await turn.settle('bucket', 10);
      await turn.cancel();
      expect([await left('bucket'), await left('slots')]).toEqual([90, 2]);
      const other = await host.limiter.reserve(key, ['bucket', 'slots'], options);
      await other.cancel();
      await other.settle('bucket', 60);
      expect([await left('bucket'), await left('slots')]).toEqual([90, 2]);
    });

    it.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
      'cannot be settled at %p tokens',
      async (tokens) => {
        const lease = await host.limiter.acquire(key, 'bucket', 40);
        await expect(lease.settle('bucket', tokens)).rejects.toThrow(
          'Expected `tokens` to be a whole number from 0 up',
        );
        expect(await left('bucket')).toBe(60);
      },
    );
  });
}
