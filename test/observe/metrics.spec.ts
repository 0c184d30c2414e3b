import { describe, expect, it } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import type { PlanDefinition } from '../../lib/core/plan.js';
import { KeyRoom } from '../../lib/observe/heavy-hitters.js';
import { METRICS } from '../../lib/observe/metrics.js';
import { PolicyCounters } from '../../lib/observe/policy-counters.js';
import type { RateLimitSnapshot } from '../../lib/observe/stats-snapshot.js';

describe('the metric of limits', () => {
  const metric = METRICS.find(({ name }) => name === 'limit')!;

  it.each<[string, PlanDefinition, [string, number][]]>([
    [
      'a bucket',
      { capacity: 20, tokensPerSecond: 5 },
      [
        ['rate', 5],
        ['burst', 20],
      ],
    ],
    [
      'a rate a minute',
      '30/minute',
      [
        ['rate', 0.5],
        ['burst', 30],
      ],
    ],
    [
      'a window',
      { limit: 600, windowMs: 60_000 },
      [
        ['rate', 10],
        ['burst', 600],
      ],
    ],
    ['slots', { maxConcurrent: 4 }, [['concurrency', 4]]],
    [
      'a plan of 0',
      { limit: 0, windowMs: 1_000 },
      [
        ['rate', 0],
        ['burst', 0],
      ],
    ],
    ['a plan of −1', { limit: -1, windowMs: 1_000 }, []],
  ])('tells what %s lets through in a second and at once', (_, definition, expected) => {
    const plan = definePlan('gold', definition);
    const noKeys = { requests: [], denials: [] };
    const counters = new PolicyCounters('gold', plan, undefined, new KeyRoom());
    const policies = [counters.snapshot(0, 0, noKeys)];
    const stats = { plans: policies, gateway: [], outbound: [] } as unknown as RateLimitSnapshot;
    const samples = metric.read(stats) as { labels: object; value: number }[];
    expect(samples).toEqual(
      expected.map(([kind, value]) => ({
        labels: { policy: 'gold', direction: 'inbound', kind },
        value,
      })),
    );
  });
});
