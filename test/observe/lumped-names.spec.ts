import { describe, expect, it } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import type { Limit, LimitDecision } from '../../lib/core/limit-store.js';
import {
  CountersByName,
  MAX_POLICIES,
  MAX_SHOWN_UNUSED,
} from '../../lib/observe/counters-by-name.js';
import { METRICS } from '../../lib/observe/metrics.js';
import { Observation } from '../../lib/observe/observation.js';
import { RateLimitStats } from '../../lib/observe/rate-limit-stats.js';
import type { RateLimitSnapshot } from '../../lib/observe/stats-snapshot.js';
import type { RuleView } from '../../lib/outbound/rule-view.js';

const NOTHING = {
  waiting: 0,
  oldestWaitMs: 0,
  cooldownMs: 0,
  state: 'normal',
  domains: [],
} as const;

function observing(views: readonly RuleView[] = [], held: readonly Limit[] = []) {
  const observation = new Observation({ nowMs: () => 0, timeMs: () => 0, random: Math.random });
  const stats = new RateLimitStats({
    observation,
    store: { kind: 'memory', onStoreFailure: 'open', keys: () => 0, evictions: () => 0 },
    held: () => held,
    rules: () => views,
    ruleOf: () => undefined,
  });
  return { observation, tally: observation.tally, stats };
}

function limitOf(name: string, definition: Parameters<typeof definePlan>[1] = '10/day'): Limit {
  return { plan: definePlan(name, definition), key: 'ada', cost: 1 };
}

const said = (limit: Limit, admits: boolean, remaining: number): LimitDecision[] => [
  { limit, admits, remaining, waitUs: 0, resetUs: 0 },
];

/** Uses up the names that are told apart. */
function fill({ tally }: ReturnType<typeof observing>, labelled = false): void {
  for (let i = 0; i < MAX_POLICIES; i++) {
    const seenAs = { name: `level-${i}`, side: 'gateway', isOfCaller: false } as const;
    const limit = limitOf(`tenant-${i}`);
    tally.countAllowed(said(labelled ? { ...limit, seenAs } : limit, true, 9));
  }
}

function valuesOf(snapshot: RateLimitSnapshot, name: string): Record<string, number> {
  const metric = METRICS.find((one) => one.name === name)!;
  if (metric.kind === 'histogram') throw new Error(`${name} is a histogram.`);
  const samples = metric.read(snapshot).filter(({ labels }) => /^_other/.test(labels['policy']!));
  return Object.fromEntries(
    samples.map(({ labels, value }) => [Object.values(labels).join(' '), value]),
  );
}

describe('what many plans share', () => {
  it('counts what is near a limit, denied by 0 and held, by the plan that it was', () => {
    const slots = limitOf('tenant-slots', { maxConcurrent: 3 });
    const closed = limitOf('tenant-closed', { limit: 0, windowMs: 1_000 });
    const observed = observing([], [slots, slots]);
    fill(observed);
    const { tally, stats } = observed;
    const counted = limitOf('tenant-near');
    for (const remaining of [9, 3, 2, 1, 0]) tally.countAllowed(said(counted, true, remaining));
    tally.countAllowed(said(slots, true, 2));
    tally.countClosed({ allowed: false, waitUs: 1, atUs: 0, limits: said(closed, false, 0) });
    const snapshot = stats.snapshot();
    expect(valuesOf(snapshot, 'near_limit')).toEqual({ '_other inbound': 3 });
    expect(valuesOf(snapshot, 'lease.active')).toEqual({ '_other inbound': 2 });
    expect(valuesOf(snapshot, 'limit')).toEqual({});
    expect(valuesOf(snapshot, 'requests')).toEqual({
      '_other inbound allowed  false': 6,
      '_other inbound delayed  false': 0,
      '_other inbound denied mixed false': 0,
      '_other inbound denied deny_list false': 1,
    });
    expect(snapshot.totals).toMatchObject({ allowed: MAX_POLICIES + 6, denied: 1 });
  });

  it('is apart from what many levels of a gateway share, so that no series is there twice', () => {
    const observed = observing();
    fill(observed);
    fill(observed, true);
    const seenAs = { name: 'level-x', side: 'gateway', isOfCaller: false } as const;
    observed.tally.countAllowed(said(limitOf('tenant-x'), true, 9));
    observed.tally.countAllowed(said({ ...limitOf('tenant-x'), seenAs }, true, 9));
    const { plans, gateway } = observed.stats.snapshot();
    expect(plans.at(-1)).toMatchObject({ policy: '_other', allowed: 1 });
    expect(gateway.at(-1)).toMatchObject({ policy: '_other_levels', allowed: 1 });
  });
});

describe('what many outbound rules share', () => {
  it('counts who waits, for how long, and what cools down under all of them', () => {
    const rule = { requestsPerSecond: 1, burstCapacity: 1 };
    const views: RuleView[] = [];
    const observed = observing(views);
    const { outbound } = observed.observation;
    for (let i = 0; i < MAX_POLICIES; i++) outbound.onPermit(`rule-${i}.test`, 0);
    outbound.onPermit('late-1.test', 0);
    outbound.onRefusal('late-2.test', 'timeout', 5);
    views.push(
      { ...NOTHING, source: 'late-1.test', rule, waiting: 2, oldestWaitMs: 70_000 },
      { ...NOTHING, source: 'late-2.test', rule, waiting: 1, oldestWaitMs: 10 },
      { ...NOTHING, source: 'late-3.test', rule, state: 'cooling', cooldownMs: 500 },
    );
    const snapshot = observed.stats.snapshot();
    expect(snapshot.outbound).toHaveLength(MAX_POLICIES + 1);
    expect(snapshot.outbound.at(-1)).toMatchObject({
      ...{ policy: '_other', allowed: 1, denied: { timeout: 1 }, requestsPerSecond: 0 },
      ...{ waiting: 3, oldestWaitMs: 70_000, cooldown: { state: 'cooling', remainingMs: 500 } },
    });
    expect(valuesOf(snapshot, 'queue.oldest_age')).toEqual({ _other: 70 });
    expect(valuesOf(snapshot, 'limit')).toEqual({});
    expect(observed.stats.countedAs('late-9.test', 'outbound')).toBe('_other');
    expect(observed.stats.countedAs('rule-9.test', 'outbound')).toBe('rule-9.test');
  });
});

describe('counters by name', () => {
  it('are bounded for names that come while running, and never for those that are declared', () => {
    const names = new CountersByName<{ name: string }>();
    const open = (name: string) => names.open(name, (policy) => ({ name: policy })).name;
    names.declare('before', () => ({ name: 'before' }));
    open('later');
    for (let i = 0; i < 5_000; i++) open(`tenant-${i}`);
    expect(names.entries()).toHaveLength(1 + MAX_POLICIES + 1);
    names.declare('later', () => ({ name: 'not made again' }));
    expect([open('before'), open('later'), open('tenant-3000')]).toEqual([
      ...['before', 'later', 'tenant-3000'],
    ]);
    expect(open('tenant-4000')).toBe('_other');
  });

  it('of declared names beyond the first thousand are shown once they are used', () => {
    const names = new CountersByName<{ name: string }>();
    for (let i = 0; i < 3_000; i++) names.declare(`rule-${i}`, () => ({ name: `rule-${i}` }));
    expect(names.entries()).toHaveLength(MAX_SHOWN_UNUSED);
    expect(names.open('rule-2999', (policy) => ({ name: policy })).name).toBe('rule-2999');
    expect(names.entries()).toHaveLength(MAX_SHOWN_UNUSED + 1);
  });
});
