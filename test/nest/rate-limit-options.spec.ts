import { describe, expect, it } from '@jest/globals';
import { InvalidOptionError } from '../../lib/core/errors.js';
import { InMemoryPlanRegistry } from '../../lib/core/in-memory-plan-registry.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import type { RateLimitOptions } from '../../lib/nest/rate-limit-options.js';
import { checkOptions } from '../../lib/nest/rate-limit-options.js';
import { FakeClock } from '../support/fake-clock.js';

const DEFAULTS = {
  plans: {},
  maxLimits: 100_000,
  keyResolvers: {},
  onMissingKey: 'ip',
  ipv6PrefixBits: 64,
  headers: 'draft-11',
  problemDetails: false,
  graphql: { countBy: 'selection' },
  keyPrefix: 'rate_limiter',
  deadlineMs: 50,
  onStoreFailure: 'open',
  localShare: 1,
  denyCache: true,
  diagnostics: true,
  sharedChanges: false,
};

describe('the options', () => {
  it('have defaults', () => {
    expect(checkOptions({})).toEqual(DEFAULTS);
  });

  it('keep their defaults where they are undefined', () => {
    expect(checkOptions({ headers: undefined, maxLimits: undefined })).toEqual(DEFAULTS);
  });

  it.each<RateLimitOptions>([
    { plans: { gold: '5/s' } },
    { registry: new InMemoryPlanRegistry() },
    { store: new MemoryStore(new FakeClock()) },
    { clock: new FakeClock() },
    { clock: { nowUs: () => 1 } },
    { maxLimits: 100 },
    { maxLimits: 100_000_000 },
    { keyResolvers: { tenant: 'ip' } },
    { onMissingKey: 'deny' },
    { onMissingKey: 'skip' },
    { ipv6PrefixBits: 32 },
    { ipv6PrefixBits: 128 },
    { keySecret: 'x' },
    { headers: 'legacy' },
    { headers: false },
    { problemDetails: true },
    { diagnostics: false },
    { sharedChanges: true },
    { graphql: { countBy: 'operation' } },
    { graphql: { countBy: 'execution' } },
    { graphql: { countBy: 'field' } },
    { graphql: {} },
    { redis: 'redis://127.0.0.1:6379' },
    { redis: { host: 'redis', port: 6379 } },
    { keyPrefix: 'my-app:limits' },
    { deadlineMs: 20 },
    { onStoreFailure: 'closed' },
    { localShare: 0.25 },
  ])('are taken over: %p', (options) => {
    expect(checkOptions(options)).toEqual({ ...DEFAULTS, ...options });
  });

  it('are left as they are', () => {
    const options = Object.freeze({ maxLimits: 500, headers: undefined });
    checkOptions(options);
    expect(options).toEqual({ maxLimits: 500, headers: undefined });
  });

  it.each([null, 'gold', ['gold'], 42])('may not be %j', (options) => {
    expect(() => checkOptions(options as RateLimitOptions)).toThrow(
      new InvalidOptionError('forRoot()', 'given an object', options),
    );
  });

  it('show a long value in short', () => {
    const headers = 'x'.repeat(1_000) as 'legacy';
    expect(() => checkOptions({ headers })).toThrow(
      `Expected \`headers\` to be "draft-11", "legacy" or false, got "${'x'.repeat(116)}....`,
    );
  });
});
