import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { definePlan } from '../../lib/core/define-plan.js';
import type { Decision, Inquiry, Limit } from '../../lib/core/limit-store.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import type { DecisionMessage } from '../../lib/observe/channels.js';
import { MAX_KEYS } from '../../lib/observe/heavy-hitters.js';
import { Observation } from '../../lib/observe/observation.js';
import { ObservedStore } from '../../lib/observe/observed-store.js';
import { MAX_POLICIES, OTHER_POLICY } from '../../lib/observe/counters-by-name.js';
import { limitStoreContract } from '../contract/limit-store.contract.js';
import { FakeClock } from '../support/fake-clock.js';

function observing() {
  const clock = new FakeClock();
  const nowMs = () => clock.nowUs() / 1_000;
  const observation = new Observation({ nowMs, timeMs: nowMs, random: Math.random });
  const { tally, topics } = observation;
  const store = new ObservedStore(new MemoryStore(clock, 200), tally, topics.decision);
  return { clock, observation, store };
}

/** Always answers the same. */
class FixedStore extends MemoryStore {
  constructor(private readonly fixed: Decision) {
    super(new FakeClock());
  }

  override decide(): Decision {
    return this.fixed;
  }
}

limitStoreContract('a store that is observed', () => {
  const { store, clock } = observing();
  return { store, advanceUs: (us) => clock.advanceUs(us), close: () => undefined };
});

describe('a store that is observed', () => {
  const gold = definePlan('gold', { capacity: 2, tokensPerSecond: 1 });
  const CHANNEL = 'nestjs-floodgate:decision';
  let observation: Observation;
  let store: ObservedStore;
  let heard: DecisionMessage[];
  const hear = (message: unknown) => void heard.push(message as DecisionMessage);

  const take = (limit: Limit, mode: Inquiry['mode'] = 'take') =>
    store.decide({ limits: [limit], mode, maxWaitUs: 0, leaseId: '' });

  beforeEach(() => {
    ({ observation, store } = observing());
    heard = [];
  });

  afterEach(() => {
    unsubscribe(CHANNEL, hear);
  });

  it('answers without a promise where the other one does', () => {
    expect(store.answersAtOnce).toBe(true);
    expect(take({ plan: gold, key: 'ada', cost: 1 })).toMatchObject({ allowed: true });
  });

  it('publishes decisions to those who subscribe, and looks are none', async () => {
    subscribe(CHANNEL, hear);
    await take({ plan: gold, key: 'ada-lovelace', cost: 2 });
    await take({ plan: gold, key: 'ada-lovelace', cost: 1 });
    await take({ plan: gold, key: 'ada-lovelace', cost: 1 }, 'peek');
    expect(Object.keys(heard[0]!)).not.toContain('failure');
    expect(heard).toEqual([
      {
        ...{ allowed: true, reason: 'ALLOWED', mode: 'take', waitMs: 0, fromDenyCache: false },
        limits: [
          {
            ...{ policy: 'gold', kind: 'token-bucket', denied: false, shadow: false },
            ...{ quota: 2, remaining: 0, key: expect.stringMatching(/^ad…ce #/) as unknown },
          },
        ],
      },
      expect.objectContaining({ allowed: false, reason: 'LIMIT_EXCEEDED', waitMs: 1_000 }),
    ]);
  });

  it('builds nothing when nobody listens', async () => {
    const limit: Limit = { plan: gold, key: 'ada', cost: 1 };
    const limits = [{ limit, admits: true, remaining: 1, waitUs: 0, resetUs: 0 }];
    const told = jest.spyOn(limits, 'map');
    const { tally, topics, events } = observation;
    const fixed = { allowed: true, waitUs: 0, atUs: 0, limits };
    store = new ObservedStore(new FixedStore(fixed), tally, topics.decision);
    await take(limit);
    expect([topics.decision.isHeard, told.mock.calls.length]).toEqual([false, 0]);
    const stop = events.on('decision', hear);
    await take(limit);
    expect([heard.length, told.mock.calls.length]).toEqual([1, 1]);
    stop();
    await take(limit);
    expect([heard.length, told.mock.calls.length]).toEqual([1, 1]);
    expect(tally.totals.allowed).toBe(3);
  });

  it('goes on when a listener throws', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    observation.events.on('decision', () => {
      throw new Error('a mistake of the listener');
    });
    expect(await take({ plan: gold, key: 'ada', cost: 1 })).toMatchObject({ allowed: true });
    expect(warn).toHaveBeenCalledWith(
      'A listener of RateLimitEvents threw: Error: a mistake of the listener',
    );
    warn.mockRestore();
  });

  it('tells 200 names apart, and counts all others as one', async () => {
    for (let i = 0; i < 1_000; i++) {
      const plan = definePlan(`customer-${i}`, { capacity: 1, tokensPerSecond: 1 });
      await take({ plan, key: 'ada', cost: 1 });
      await take({ plan, key: 'ada', cost: 1 });
    }
    const all = observation.tally.policies.all();
    expect(all).toHaveLength(MAX_POLICIES + 1);
    const other = all.find(({ policy }) => policy === OTHER_POLICY)!;
    expect([other.allowed, other.denied]).toEqual([800, 800]);
    expect(observation.tally.totals).toMatchObject({ allowed: 1_000, denied: 1_000 });
  });

  it('keeps a level of a gateway apart from a plan of the same name', async () => {
    const seenAs = { name: 'gold', side: 'gateway', isOfCaller: false } as const;
    await take({ plan: gold, key: 'ada', cost: 1 });
    await take({ plan: gold, key: 'level', cost: 1, seenAs });
    await take({ plan: gold, key: 'level', cost: 1, seenAs });
    const counted = observation.tally.policies.all().map(({ label, allowed }) => [label, allowed]);
    expect(counted).toEqual([
      [undefined, 1],
      [seenAs, 2],
    ]);
  });

  it('knows the heavy hitters among a million keys', () => {
    const plan = definePlan('wide', { capacity: 1e9, tokensPerSecond: 1e6 });
    const { tally } = observation;
    const asked = (key: string) => {
      const limit = { plan, key, cost: 1 };
      const said = { limit, admits: true, remaining: 5e8, waitUs: 0, resetUs: 0 };
      tally.countAllowed([said]);
    };
    for (let i = 0; i < 1_000_000; i++) asked(i % 5 === 0 ? 'the-crawler' : `key-${i}`);
    const { keys } = tally.policies.of({ plan, key: '', cost: 1 });
    const [first] = keys.top(10_000);
    expect(keys.top(10_000)).toHaveLength(MAX_KEYS);
    expect(first!.key).toBe('the-crawler');
    expect(first!.count / 200_000).toBeGreaterThan(0.5);
    expect(first!.count / 200_000).toBeLessThan(2);
    expect(first!.atLeast).toBeLessThanOrEqual(200_000);
    expect(tally.isComplete).toEqual({ requests: false, denials: true });
  });
});
