import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { definePlan } from '../../lib/core/define-plan.js';
import type { Inquiry } from '../../lib/core/limit-store.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { FEW_KEYS, HeavyHitters, KeyRoom, MAX_KEYS } from '../../lib/observe/heavy-hitters.js';
import { Observation } from '../../lib/observe/observation.js';
import { ObservedStore } from '../../lib/observe/observed-store.js';
import { RateLimitStats } from '../../lib/observe/rate-limit-stats.js';
import type { RateLimitSnapshot, TopKey } from '../../lib/observe/stats-snapshot.js';
import { FakeClock } from '../support/fake-clock.js';
import { chanceFrom } from '../support/rude-clients.js';

const PLENTY = { capacity: 1e6, tokensPerSecond: 1 };

/** A plan and a store that are observed; a request takes a millisecond. */
function observing(msPerRequest = 1) {
  const clock = new FakeClock();
  const nowMs = () => clock.nowUs() / 1_000;
  const observation = new Observation({ nowMs, timeMs: nowMs, random: chanceFrom(7) });
  const { tally, topics } = observation;
  const store = new ObservedStore(new MemoryStore(clock, 100_000), tally, topics.decision);
  const stats = new RateLimitStats({
    observation,
    store: { kind: 'memory', onStoreFailure: 'open', keys: () => 0, evictions: () => 0 },
    held: () => [],
    rules: () => [],
    ruleOf: () => undefined,
  });
  const ask = (key: string, ...plans: ReturnType<typeof definePlan>[]) => {
    clock.advanceUs(msPerRequest * 1_000);
    const limits = plans.map((plan) => ({ plan, key, cost: 1 }));
    const inquiry: Inquiry = { limits, mode: 'take', maxWaitUs: 0, leaseId: '' };
    void store.decide(inquiry);
  };
  return { ask, stats, tally };
}

function counted(keys: readonly TopKey[]): unknown[] {
  return keys.map(({ policy, count, atLeast, atMost }) => [policy, count, atLeast, atMost]);
}

function planOf({ plans }: RateLimitSnapshot, name: string) {
  return plans.find(({ policy }) => policy === name)!;
}

describe('top keys', () => {
  const a = definePlan('a', PLENTY);
  const b = definePlan('b', PLENTY);

  it.each([1, 0])('are exact for 500 keys with 2 to 6 requests each, %i ms apart', (ms) => {
    const { ask, stats } = observing(ms);
    for (let round = 0; round < 6; round++) {
      for (let i = 0; i < 500; i++) if (round < 2 + (i % 5)) ask(`key-${i}`, a);
    }
    const { topKeys } = stats.snapshot();
    expect(counted(topKeys.requests)).toEqual(Array(20).fill(['a', 6, 6, 6]));
  });

  it('are counted under the plan that counted them', () => {
    const { ask, stats } = observing();
    for (let i = 0; i < 99; i++) ask('ada', a);
    ask('ada', b);
    const snapshot = stats.snapshot();
    expect(counted(snapshot.topKeys.requests)).toEqual([
      ['a', 99, 99, 99],
      ['b', 1, 1, 1],
    ]);
    expect(counted(planOf(snapshot, 'a').topKeys.requests)).toEqual([['a', 99, 99, 99]]);
    expect(counted(planOf(snapshot, 'b').topKeys.requests)).toEqual([['b', 1, 1, 1]]);
  });

  it('of a small plan are found beside a flood of others', () => {
    const { ask, stats } = observing();
    const login = definePlan('login', { limit: 3, windowMs: 86_400_000 });
    for (let i = 0; i < 20_000; i++) {
      ask(`visitor-${i}`, a);
      if (i % 500 === 0) ask('burglar', login);
    }
    const { topKeys, denied } = planOf(stats.snapshot(), 'login');
    expect(denied).toBe(37);
    expect(counted(topKeys.requests)).toEqual([['login', 40, 40, 40]]);
    expect(counted(topKeys.denials)).toEqual([['login', 37, 37, 37]]);
  });

  it('of a chain count where the request did: under all plans, or those that said no', () => {
    const { ask, stats } = observing();
    const small = definePlan('small', { limit: 2, windowMs: 86_400_000 });
    for (let i = 0; i < 5; i++) ask('ada', a, small);
    const snapshot = stats.snapshot();
    expect(counted(planOf(snapshot, 'a').topKeys.requests)).toEqual([['a', 2, 2, 2]]);
    expect(counted(planOf(snapshot, 'small').topKeys.requests)).toEqual([['small', 5, 5, 5]]);
    expect(counted(snapshot.topKeys.denials)).toEqual([['small', 3, 3, 3]]);
    for (const plan of snapshot.plans) {
      const asked = plan.topKeys.requests.reduce((sum, { count }) => sum + count, 0);
      expect(asked).toBe(plan.allowed + plan.denied);
    }
  });

  it('say what they know for certain when there are more keys than places', () => {
    const { ask, stats } = observing();
    for (let i = 0; i < 9_000; i++) ask(i % 3 === 0 ? 'crawler' : `key-${i}`, a);
    const [first, second] = stats.snapshot().topKeys.requests;
    expect(first).toMatchObject({ count: 3_000, atLeast: 3_000, atMost: 3_000 });
    expect([second!.atLeast, second!.count]).toEqual([1, 1]);
    expect(second!.atMost).toBeLessThanOrEqual(9);
  });

  it('do not claim an upper bound where not every request was looked at, until a reset', () => {
    const { ask, stats } = observing(0.001);
    for (let i = 0; i < 200_000; i++) ask(i % 2 === 0 ? 'crawler' : `key-${i}`, a);
    const [first] = stats.snapshot().topKeys.requests;
    expect(first!.atMost).toBeNull();
    expect(first!.atLeast).toBeLessThan(100_000);
    expect(first!.count / 100_000).toBeGreaterThan(0.7);
    expect(first!.count / 100_000).toBeLessThan(1.3);
    stats.reset();
    expect(stats.snapshot().topKeys).toEqual({ requests: [], denials: [] });
  });
});

/** What occurs, in order: few keys often and many seldom, as far as the exponent says. */
const streams = fc.record({
  places: fc.integer({ min: 1, max: 60 }),
  keys: fc.integer({ min: 1, max: 400 }),
  exponent: fc.integer({ min: 1, max: 6 }),
  length: fc.integer({ min: 1, max: 3_000 }),
  heaviest: fc.constantFrom(1, 1, 8),
  seed: fc.integer(),
});

type Stream = typeof streams extends fc.Arbitrary<infer T> ? T : never;

/** A sketch of a random stream, and how often each key really occurred. */
function sketched({ places, keys, exponent, length, heaviest, seed }: Stream) {
  const chance = chanceFrom(seed);
  const sketch = new HeavyHitters(new KeyRoom(places), places, 0);
  const truth = new Map<string, number>();
  const seen = new Map<string, number>();
  for (let i = 0; i < length; i++) {
    const key = `key-${Math.floor(keys * chance() ** exponent)}`;
    const weight = 1 + Math.floor(chance() * heaviest);
    truth.set(key, (truth.get(key) ?? 0) + weight);
    seen.set(key, (seen.get(key) ?? 0) + 1);
    sketch.add(key, weight);
  }
  const total = [...truth.values()].reduce((sum, times) => sum + times, 0);
  return { top: sketch.top(places), truth, seen, off: total / places };
}

describe('the sketch of heavy hitters', () => {
  it('keeps its bounds over random streams', () => {
    const property = fc.property(streams, (stream) => {
      const { top, truth, seen, off } = sketched(stream);
      expect(top).toHaveLength(Math.min(stream.places, truth.size));
      for (const { key, count, atLeast, atMost } of top) {
        expect(count).toBeLessThanOrEqual(truth.get(key)!);
        expect(atMost).toBeGreaterThanOrEqual(truth.get(key)!);
        expect(atMost - count).toBeLessThanOrEqual(off);
        expect(atLeast).toBeLessThanOrEqual(Math.min(count, seen.get(key)!));
      }
      const found = top.map(({ key }) => key);
      const frequent = [...truth].filter(([, times]) => times > off).map(([key]) => key);
      expect(found).toEqual(expect.arrayContaining(frequent));
    });
    fc.assert(property, { numRuns: 300 });
  });

  it('is exact while there is a place for every key', () => {
    const property = fc.property(streams, (stream) => {
      const { top, truth } = sketched({ ...stream, places: stream.keys, heaviest: 1 });
      for (const { key, count, atLeast, atMost } of top) {
        const times = truth.get(key);
        expect([count, atLeast, atMost]).toEqual([times, times, times]);
      }
      expect(top).toHaveLength(truth.size);
    });
    fc.assert(property, { numRuns: 100 });
  });

  it('shares its room with others, and never has less than a few places', () => {
    const room = new KeyRoom(1_500);
    const sketches = [1, 2, 3].map(() => new HeavyHitters(room));
    for (const sketch of sketches) for (let i = 0; i < 5_000; i++) sketch.add(`key-${i}`, 1);
    const sizes = sketches.map((sketch) => sketch.top(10_000).length);
    expect(sizes).toEqual([MAX_KEYS, 1_500 - (MAX_KEYS - FEW_KEYS) + FEW_KEYS, FEW_KEYS]);
  });
});
