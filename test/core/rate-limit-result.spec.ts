import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { NEVER } from '../../lib/core/counter.js';
import { definePlan } from '../../lib/core/define-plan.js';
import type { Decision, LimitDecision } from '../../lib/core/limit-store.js';
import type { PlanDefinition } from '../../lib/core/plan.js';
import { denialOf, RateLimitResult } from '../../lib/core/rate-limit-result.js';

/** What a plan said, an admission with 5 left unless told otherwise. */
function said(definition: PlanDefinition, overrides: Partial<LimitDecision> = {}): LimitDecision {
  const limit = { plan: definePlan('gold', definition), key: 'user-1', cost: 1 };
  return { limit, admits: true, remaining: 5, waitUs: 0, resetUs: 0, ...overrides };
}

const decided = (allowed: boolean, waitUs: number, ...limits: readonly LimitDecision[]) =>
  new RateLimitResult({ allowed, waitUs, atUs: 7, limits } satisfies Decision);

describe('a result', () => {
  it('of a chain that admits says so', () => {
    expect(decided(true, 0, said('10/s'))).toMatchObject({
      allowed: true,
      remainingTokens: 5,
      retryAfterMs: 0,
      reason: 'ALLOWED',
    });
  });

  it('of no limits is unlimited', () => {
    expect(decided(true, 0)).toMatchObject({
      allowed: true,
      remainingTokens: Infinity,
      retryAfterMs: 0,
      reason: 'UNLIMITED',
      limits: [],
    });
  });

  it.each([
    [1, 1],
    [999, 1],
    [1_000, 1],
    [1_001, 2],
    [59_999_001, 60_000],
  ])('of a denial for %d µs tells to come back after %d ms', (waitUs, retryAfterMs) => {
    const denial = said('10/s', { admits: false, remaining: 0, waitUs });
    const result = decided(false, waitUs, denial);
    expect(result).toMatchObject({ allowed: false, retryAfterMs, reason: 'LIMIT_EXCEEDED' });
    expect(result.limits[0]).toMatchObject({ denied: true, retryAfterMs });
  });

  it('of a cost that never passes has no time to come back', () => {
    const denial = said('10/s', { admits: false, waitUs: NEVER });
    const result = decided(false, NEVER, denial);
    expect(result).toMatchObject({ retryAfterMs: null, reason: 'COST_EXCEEDS_CAPACITY' });
    expect(result.limits[0]!.retryAfterMs).toBeNull();
  });

  it('of a plan of 0 is denied by it for good', () => {
    const { limit } = said('0/s');
    expect(decided(false, NEVER, denialOf(limit))).toMatchObject({
      allowed: false,
      remainingTokens: 0,
      retryAfterMs: null,
      reason: 'DENIED_BY_PLAN',
      limits: [{ denied: true, remaining: 0, retryAfterMs: null, resetMs: 0 }],
    });
  });

  it('does not blame a shadow of 0 for what another plan denies for good', () => {
    const { limit } = said({ capacity: 0, tokensPerSecond: 1, shadow: true });
    const denial = said('10/s', { admits: false, waitUs: NEVER });
    expect(decided(false, NEVER, denial, denialOf(limit)).reason).toBe('COST_EXCEEDS_CAPACITY');
  });

  it('tells the fewest tokens that are left, shadows aside', () => {
    const shadow = said({ limit: 9, windowMs: 1_000, shadow: true }, { remaining: 0 });
    const few = said({ maxConcurrent: 9 }, { remaining: 2 });
    expect(decided(true, 0, said('10/s'), few, shadow).remainingTokens).toBe(2);
    expect(decided(true, 0, shadow).remainingTokens).toBe(Infinity);
  });

  it('tells what every limit said, in order', () => {
    const { limits } = decided(
      false,
      1_500,
      said('10/minute', { remaining: 3, resetUs: 42_000_001 }),
      said(
        { limit: 20, windowMs: 1_000, shadow: true },
        { admits: false, remaining: 0, waitUs: 1, resetUs: 1_000 },
      ),
      said({ maxConcurrent: 4 }, { admits: false, remaining: 0, waitUs: 1_500 }),
    );
    expect(limits).toEqual([
      {
        plan: 'gold',
        kind: 'token-bucket',
        quota: 10,
        windowMs: 60_000,
        remaining: 3,
        retryAfterMs: 0,
        resetMs: 42_001,
        denied: false,
        shadow: false,
      },
      {
        plan: 'gold',
        kind: 'sliding-window',
        quota: 20,
        windowMs: 1_000,
        remaining: 0,
        retryAfterMs: 1,
        resetMs: 1,
        denied: true,
        shadow: true,
      },
      {
        plan: 'gold',
        kind: 'concurrency',
        quota: 4,
        windowMs: 0,
        remaining: 0,
        retryAfterMs: 2,
        resetMs: 0,
        denied: true,
        shadow: false,
      },
    ]);
  });

  it('makes its list of limits once', () => {
    const result = decided(true, 0, said('10/s'));
    expect(result.limits).toBe(result.limits);
  });

  it('shows no key in JSON and in logs', () => {
    const result = decided(true, 0, said('10/s'));
    const shown = {
      allowed: true,
      remainingTokens: 5,
      retryAfterMs: 0,
      reason: 'ALLOWED',
      limits: [
        {
          plan: 'gold',
          kind: 'token-bucket',
          quota: 10,
          windowMs: 1_000,
          remaining: 5,
          retryAfterMs: 0,
          resetMs: 0,
          denied: false,
          shadow: false,
        },
      ],
    };
    expect(JSON.parse(JSON.stringify(result))).toEqual(shown);
    expect(inspect(result)).toContain("reason: 'ALLOWED'");
    expect(inspect(result)).not.toContain('user-1');
  });
});
