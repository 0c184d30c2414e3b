import { beforeEach, describe, expect, it } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import type { Decision, Inquiry, Limit, LimitDecision } from '../../lib/core/limit-store.js';
import { Tally } from '../../lib/observe/tally.js';
import { newTopics } from '../../lib/observe/topics.js';

const GOLD = definePlan('gold', '10/s');
const TRIED = definePlan('tried', { capacity: 1, tokensPerSecond: 1, shadow: true });
const gold: Limit = { plan: GOLD, key: 'ada', cost: 1 };
const tried: Limit = { plan: TRIED, key: 'ada', cost: 1 };

const says = (limit: Limit, admits: boolean, more: Partial<LimitDecision> = {}): LimitDecision => ({
  ...{ limit, admits, remaining: 5, waitUs: 0, resetUs: 0 },
  ...more,
});

const decision = (
  allowed: boolean,
  limits: readonly LimitDecision[],
  more: Partial<Decision> = {},
): Decision => ({ allowed, waitUs: 0, atUs: 0, limits, ...more });

const NOTHING = {
  ...{ allowed: 0, delayed: 0, denied: 0, shadowDenied: 0 },
  ...{ failedOpen: 0, failedClosed: 0, failedLocal: 0 },
};

describe('counting decisions', () => {
  let tally: Tally;

  beforeEach(() => {
    const ties = { nowMs: () => 0, timeMs: () => 1_700_000_000_000, random: () => 0 };
    tally = new Tally(newTopics().wait, ties);
  });

  const inquiry: Inquiry = { limits: [gold, tried], mode: 'take', maxWaitUs: 0, leaseId: '' };
  const count = (made: Decision) => tally.countOther(inquiry, made);

  const topOf = (what: 'keys' | 'deniedKeys') => {
    const { [what]: hitters } = tally.policies.of(gold);
    return hitters.top(5).map(({ key, count }) => [key, count]);
  };

  /** What changed under a plan, from the beginning. */
  function countedFor(limit: Limit) {
    const stats = tally.policies.of(limit).snapshot(0, 0, { requests: [], denials: [] });
    const { allowed, delayed, denied, shadowDenied, failedLocal, refunds } = stats;
    const all = { allowed, delayed, denied, shadowDenied, failedLocal, refunds };
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value > 0));
  }

  describe.each<[string, () => void, Partial<typeof NOTHING>, object, object]>([
    [
      'of a shadow plan beside one that admits',
      () => tally.countAllowed([says(gold, true), says(tried, false)]),
      { allowed: 1, shadowDenied: 1 },
      { allowed: 1 },
      { shadowDenied: 1 },
    ],
    [
      'of a shadow plan for a request that waits',
      () =>
        count(
          decision(true, [says(gold, true, { waitUs: 3_000 }), says(tried, false)], {
            waitUs: 3_000,
          }),
        ),
      { delayed: 1, shadowDenied: 1 },
      { allowed: 1, delayed: 1 },
      { shadowDenied: 1 },
    ],
    [
      'of a shadow plan and another one',
      () => count(decision(false, [says(gold, false), says(tried, false)])),
      { denied: 1, shadowDenied: 1 },
      { denied: 1 },
      { shadowDenied: 1 },
    ],
    [
      'of another plan than the shadow',
      () => count(decision(false, [says(gold, false), says(tried, true)])),
      { denied: 1 },
      { denied: 1 },
      {},
    ],
    [
      'of a shadow plan of 0, whose chain goes on',
      () => tally.countClosed(decision(true, [says(tried, false)])),
      { shadowDenied: 1 },
      {},
      { shadowDenied: 1 },
    ],
    [
      'of a plan of 0, which ends its chain',
      () => tally.countClosed(decision(false, [says(gold, false)])),
      { denied: 1 },
      { denied: 1 },
      {},
    ],
    [
      'of a shadow plan in this process alone',
      () => count(decision(true, [says(gold, true), says(tried, false)], { failure: 'local' })),
      { allowed: 1, shadowDenied: 1, failedLocal: 1 },
      { allowed: 1, failedLocal: 1 },
      { shadowDenied: 1, failedLocal: 1 },
    ],
    [
      'of both in this process alone',
      () => count(decision(false, [says(gold, false), says(tried, false)], { failure: 'local' })),
      { denied: 1, shadowDenied: 1, failedLocal: 1 },
      { denied: 1, failedLocal: 1 },
      { shadowDenied: 1, failedLocal: 1 },
    ],
    [
      'for want of an answer',
      () => count(decision(false, [], { failure: 'closed' })),
      { denied: 1, failedClosed: 1 },
      { denied: 1 },
      { denied: 1 },
    ],
  ])('notes a denial %s', (_, act, totals, ofGold, ofTried) => {
    it('in the totals and under its plan', () => {
      act();
      expect(tally.totals).toEqual({ ...NOTHING, ...totals });
      expect([countedFor(gold), countedFor(tried)]).toEqual([ofGold, ofTried]);
    });
  });

  it('lists only those who were denied', () => {
    count(decision(true, [says(tried, false)], { waitUs: 1 }));
    expect(tally.lastDenials.latest()).toEqual([]);
    count(decision(false, [says(tried, false), says(gold, false)], { waitUs: 2_000_000 }));
    expect(tally.lastDenials.latest()).toMatchObject([{ policy: 'gold' }]);
  });

  it('counts requests that pass for want of an answer', () => {
    count(decision(true, [], { failure: 'open' }));
    expect(tally.totals).toEqual({ ...NOTHING, allowed: 1, failedOpen: 1 });
    expect(tally.policies.of(gold).failedOpen).toBe(1);
  });

  it('tells what the deny cache said from what the store said', () => {
    count(decision(false, [says(gold, false)]));
    count(decision(false, [says(gold, false)], { fromCache: true }));
    const { denied, fromDenyCache } = tally.policies.of(gold);
    expect({ denied, fromDenyCache }).toEqual({ denied: 2, fromDenyCache: 1 });
  });

  it('publishes waits while somebody listens', () => {
    const topic = newTopics().wait;
    const heard: unknown[] = [];
    const tallyHeard = new Tally(topic, { nowMs: () => 0, timeMs: () => 0, random: () => 0 });
    topic.add((message) => heard.push(message));
    const waiting = decision(true, [says(gold, true, { waitUs: 2_500 })], { waitUs: 2_500 });
    tallyHeard.countOther(inquiry, waiting);
    expect(heard).toEqual([
      { policy: 'gold', direction: 'inbound', waitedMs: 2.5, result: 'acquired' },
    ]);
    expect(tallyHeard.policies.of(gold).waits.snapshot().count).toBe(1);
  });

  it('samples who asks: everybody at first, and the last level that tells callers apart', () => {
    const shared = { plan: GOLD, key: 'all', cost: 1 };
    const label = { name: 'server', side: 'gateway', isOfCaller: false } as const;
    for (let i = 0; i < 3; i++)
      tally.countAllowed([says(gold, true), says({ ...shared, seenAs: label }, true)]);
    count(decision(false, [says(gold, false)]));
    expect(topOf('keys')).toEqual([['ada', 4]]);
    expect(topOf('deniedKeys')).toEqual([['ada', 1]]);
  });

  it('forgets everything with a reset, and goes on counting', () => {
    tally.countAllowed([says(gold, true)]);
    count(decision(false, [says(gold, false)]));
    tally.countRefund([gold]);
    expect(countedFor(gold)).toEqual({ allowed: 1, denied: 1, refunds: 1 });
    tally.reset();
    expect(tally.totals).toEqual(NOTHING);
    expect(countedFor(gold)).toEqual({});
    expect([topOf('keys'), topOf('deniedKeys')]).toEqual([[], []]);
    expect(tally.lastDenials.latest()).toEqual([]);
    tally.countAllowed([says(gold, true)]);
    expect(tally.totals.allowed).toBe(1);
    expect(topOf('keys')).toEqual([['ada', 1]]);
  });
});
