import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { definePlan } from '../../lib/core/define-plan.js';
import { RateLimitError } from '../../lib/core/errors.js';
import { checkDashboardOptions } from '../../lib/dashboard/dashboard-options.js';
import { checkOutboundOptions } from '../../lib/nest/outbound-options.js';
import { checkOptions } from '../../lib/nest/rate-limit-options.js';
import { OutboundRules } from '../../lib/outbound/outbound-rules.js';
import { breakAt, placesIn } from '../support/broken-value.js';

const throttle = { blocksToCooldown: 3, minCooldownMs: 1, maxCooldownMs: 2, memoryMs: 5 };
const rule = { requestsPerSecond: 1, burstCapacity: 1, maxConcurrent: 1, throttle };
const modifiers = { shadow: false, onStoreFailure: 'open' };

/** What is checked, by what, and what its paths start with. */
const CHECKED: readonly [good: object, check: (value: never) => unknown, start?: string][] = [
  [
    {
      ...{ keyPrefix: 'a', deadlineMs: 50, onStoreFailure: 'open', localShare: 1, denyCache: true },
      ...{ maxLimits: 500, onMissingKey: 'ip', ipv6PrefixBits: 64, headers: 'legacy' },
      ...{ keySecret: 'x', problemDetails: true, diagnostics: true, sharedChanges: true },
      graphql: { countBy: 'selection' },
    },
    checkOptions,
  ],
  [
    {
      ...{ file: 'a', watch: true, onStoreFailure: 'open', maxDomains: 5, idleMs: 5 },
      ...{ throttle, timeoutMs: 5, classifiers: [() => undefined], heedUpstreamLimits: true },
    },
    checkOutboundOptions,
    'outbound',
  ],
  [
    { path: 'a', guards: [class {}], imports: [class {}], title: 'a', isProtectedElsewhere: true },
    checkDashboardOptions,
    'dashboard',
  ],
  [{ default: rule, domains: { 'a.com': rule, 'b.com': rule } }, (v) => new OutboundRules(v)],
  ...[
    { capacity: 5, tokensPerSecond: 1, ...modifiers },
    { limit: 5, windowMs: 1, ...modifiers },
    { maxConcurrent: 5, leaseMs: 1, ...modifiers },
  ].map((plan): (typeof CHECKED)[number] => [plan, (value) => definePlan('gold', value), 'gold']),
];

/** Each place in each of them. */
const PLACES = CHECKED.flatMap(([good, check, start]) =>
  placesIn(good).map((path) => ({ good, check, path, start })),
);

function errorOf(check: (value: never) => unknown, value: unknown): RateLimitError {
  try {
    check(value as never);
  } catch (error) {
    expect(error).toBeInstanceOf(RateLimitError);
    return error as RateLimitError;
  }
  throw new Error('nothing was thrown');
}

describe('an option that is broken', () => {
  // Null, and what no field takes.
  const nonsense = fc.constantFrom<unknown>(null, -7, '', Number.NaN, 1e300, -Infinity);

  it.each(CHECKED)('is none of these: %j', (good, check) => {
    expect(() => check(good as never)).not.toThrow();
  });

  it('is named by its path', () => {
    fc.assert(
      fc.property(fc.constantFrom(...PLACES), nonsense, ({ good, check, path, start }, value) => {
        // No wait is too long.
        fc.pre(!(path[0] === 'timeoutMs' && value === 1e300));
        // A bucket may be as fast as it likes.
        fc.pre(!(path[0] === 'tokensPerSecond' && value === 1e300));
        const error = errorOf(check, breakAt(good, path, value));
        expect(error.path).toEqual(start === undefined ? path : [start, ...path]);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is named by its path when it is not known', () => {
    const objects = PLACES.filter(({ good, path }) => isRecordAt(good, path));
    expect(objects.length).toBeGreaterThan(8);
    for (const { good, check, path, start } of objects) {
      // Under `domains`, it is a domain.
      if (path.at(-1) === 'domains') continue;
      const error = errorOf(check, breakAt(good, [...path, 'nonsense'], 1));
      expect(error.path).toEqual([...(start === undefined ? [] : [start]), ...path, 'nonsense']);
      expect(error.message).toMatch(/unknown (field|option) "nonsense"\. Known /i);
    }
  });
});

describe('an error about options', () => {
  it.each([
    ['redis://:hunter2@redis:6379'],
    [['redis://:hunter2@redis:6379']],
    [{ redis: 'http://:hunter2@redis:6379' }],
    [{ redis: { password: 'hunter2' } }],
    [{ keySecret: ['hunter2'] }],
    [[{ keySecret: 'hunter2' }]],
  ])('never shows a secret: %j', (options) => {
    expect(errorOf(checkOptions, options).message).not.toContain('hunter2');
  });
});

function isRecordAt(good: object, path: readonly (string | number)[]): boolean {
  const value = path.reduce<unknown>((one, step) => (one as Record<string, unknown>)[step], good);
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
