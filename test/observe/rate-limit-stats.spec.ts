import { describe, expect, it } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import type { Limit } from '../../lib/core/limit-store.js';
import { Observation } from '../../lib/observe/observation.js';
import { RateLimitStats } from '../../lib/observe/rate-limit-stats.js';

const PLAN = definePlan('slots', { maxConcurrent: 5 });
const IDLE = definePlan('idle', '10/s');
const ruled = (name: string): Limit => ({
  ...{ plan: PLAN, key: 'api.example.com', cost: 1 },
  seenAs: { name, side: 'outbound', isOfCaller: false },
});
const own: Limit = { plan: PLAN, key: 'ada', cost: 1 };

describe('the stats of an application', () => {
  it('tell how many slots of each plan and rule are held, and all plans, used or not', () => {
    const observation = new Observation({ nowMs: () => 0, timeMs: () => 0, random: () => 0 });
    const held = [own, own, own, ruled('busy'), ruled('busy')];
    for (const plan of [PLAN, IDLE]) observation.tally.policies.declare(plan);
    observation.noteCooldown('quiet', 'quiet.example.com', 1);
    const stats = new RateLimitStats({
      observation,
      store: { kind: 'memory', onStoreFailure: 'open', keys: () => 3, evictions: () => 4 },
      held: () => held,
      rules: () => [],
      ruleOf: () => undefined,
    });
    const { plans, outbound, store } = stats.snapshot();
    const leasesOf = (all: readonly { policy: string; leasesHeld: number }[]) =>
      all.map(({ policy, leasesHeld }) => [policy, leasesHeld]).sort();
    expect(leasesOf(plans)).toEqual([
      ['idle', 0],
      ['slots', 3],
    ]);
    expect(leasesOf(outbound)).toEqual([
      ['busy', 2],
      ['quiet', 0],
    ]);
    expect(store).toMatchObject({ status: 'up', keys: 3, evictions: 4, unreadable: 0 });
    held.length = 0;
    expect(leasesOf(stats.snapshot().plans)).toEqual([
      ['idle', 0],
      ['slots', 0],
    ]);
    stats.close();
  });
});
