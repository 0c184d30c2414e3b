import { beforeEach, describe, expect, it } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import type { Limit } from '../../lib/core/limit-store.js';
import { Observation } from '../../lib/observe/observation.js';

const PLAN = definePlan('slots', { maxConcurrent: 2 });
const RULE = { name: '*.example.com', side: 'outbound', isOfCaller: false } as const;
const own: Limit = { plan: PLAN, key: 'ada', cost: 1 };
const outbound: Limit = { plan: PLAN, key: 'api.example.com', cost: 1, seenAs: RULE };

describe('what is written down about an application', () => {
  let timeMs: number;
  let observation: Observation;

  beforeEach(() => {
    timeMs = 1_000;
    observation = new Observation({ nowMs: () => 0, timeMs: () => timeMs, random: () => 0 });
  });

  it('tells when domains begin to cool down and when they recover', () => {
    const heard: unknown[] = [];
    const listener = (message: unknown) => heard.push(message);
    observation.noteCooldown('rule', 'unheard.example.com', 1);
    observation.topics.cooldown.add(listener);
    observation.noteCooldown('rule', 'api.example.com', 30_000);
    observation.noteCooldown('rule', 'api.example.com', 0);
    observation.topics.cooldown.delete(listener);
    const message = { policy: 'rule', domain: 'api.example.com' };
    expect(heard).toEqual([
      { ...message, to: 'cooling', cooldownMs: 30_000 },
      { ...message, to: 'normal', cooldownMs: 0 },
    ]);
    const { opened, recovered } = observation.outbound.of('rule');
    expect([opened, recovered]).toEqual([2, 1]);
  });

  it('keeps how long slots were held, under the plan or the rule that lent them', () => {
    const heard: unknown[] = [];
    const listener = (message: unknown) => heard.push(message);
    observation.topics.lease.add(listener);
    observation.noteLease([own, outbound], 250);
    observation.topics.lease.delete(listener);
    expect(heard).toEqual([
      { policy: 'slots', direction: 'inbound', heldMs: 250 },
      { policy: '*.example.com', direction: 'outbound', heldMs: 250 },
    ]);
    for (const limit of [own, outbound]) {
      expect(observation.countersOf(limit).leaseTimes.snapshot().count).toBe(1);
    }
    expect(observation.tally.policies.all().map(({ policy }) => policy)).toEqual(['slots']);
  });

  it('counts from zero after a reset, but still knows how the store is', () => {
    observation.tally.countRefund([own]);
    observation.operations.onOperation('decide', 1);
    observation.noteCooldown('rule', 'api.example.com', 1);
    observation.health.onDown('', 'ECONNREFUSED');
    timeMs = 5_000;
    observation.reset();
    expect(observation.sinceAtMs).toBe(5_000);
    expect(observation.operations.snapshot()).toEqual([]);
    expect(observation.tally.policies.all()).toEqual([]);
    expect(observation.outbound.of('rule').opened).toBe(0);
    expect(observation.health.failingSinceAtMs).toBe(1_000);
  });
});
