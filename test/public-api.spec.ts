import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import * as floodgate from '../lib/index.js';

describe('the public API', () => {
  it('is this list, and nothing is added or lost by accident', () => {
    expect(Object.keys(floodgate).sort()).toEqual([
      'Clock',
      'FirstOfKeyResolver',
      'HeaderKeyResolver',
      'InMemoryPlanRegistry',
      'InvalidKeyError',
      'InvalidOptionError',
      'InvalidPlanError',
      'InvalidTokensError',
      'IpKeyResolver',
      'Lease',
      'LeaseRequiredError',
      'LimitStore',
      'MemoryStore',
      'MissingKeyException',
      'MonotonicClock',
      'PlanRegistry',
      'PrincipalKeyResolver',
      'RATE_LIMIT_OPTIONS',
      'RateLimit',
      'RateLimitError',
      'RateLimitExceededException',
      'RateLimitGuard',
      'RateLimitInterceptor',
      'RateLimitModule',
      'RateLimitResult',
      'RateLimitUnavailableException',
      'RateLimiter',
      'Reservation',
      'SkipRateLimit',
      'UnknownPlanError',
      'normalizeAddress',
      'planFromEnv',
    ]);
  });

  it('exports these types', () => {
    const index = readFileSync('lib/index.ts', 'utf8');
    const types = [...index.matchAll(/export type \{([^}]+)\}/g)]
      .flatMap(([, names]) => names!.split(','))
      .map((name) => name.trim())
      .filter((name) => name !== '');
    expect(types.sort()).toEqual([
      'ChainOptions',
      'ConcurrencyDefinition',
      'ConcurrencyPlan',
      'Decision',
      'FailurePolicy',
      'HeaderStyle',
      'HeldLease',
      'Inquiry',
      'KeyFunction',
      'KeyResolver',
      'KeySource',
      'KeyValue',
      'Limit',
      'LimitDecision',
      'LimitStatus',
      'MissingKeyPolicy',
      'Phase',
      'Plan',
      'PlanChain',
      'PlanChangeListener',
      'PlanDefinition',
      'PlanLink',
      'PlanLinks',
      'PlanModifiers',
      'PlanReference',
      'Rate',
      'RateLimitErrorCode',
      'RateLimitOptions',
      'RateLimitOptionsFactory',
      'RateLimitReason',
      'RedisSource',
      'RequestFunction',
      'RequestSource',
      'ReserveOptions',
      'Return',
      'SlidingWindowDefinition',
      'SlidingWindowPlan',
      'TokenBucketDefinition',
      'TokenBucketPlan',
    ]);
  });
});
