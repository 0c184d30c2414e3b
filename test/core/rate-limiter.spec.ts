import { describe, expect, it } from '@jest/globals';
import type { Awaitable } from '../../lib/core/awaitable.js';
import { LeaseRequiredError } from '../../lib/core/errors.js';
import { InMemoryPlanRegistry } from '../../lib/core/in-memory-plan-registry.js';
import type { Decision, Inquiry } from '../../lib/core/limit-store.js';
import type { PlanDefinition } from '../../lib/core/plan.js';
import { PlanRegistry } from '../../lib/core/plan-registry.js';
import type { PlanChain } from '../../lib/core/rate-limiter.js';
import { RateLimiter } from '../../lib/core/rate-limiter.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { FakeClock } from '../support/fake-clock.js';

const PLANS = {
  gold: { capacity: 10, tokensPerSecond: 10 },
  silver: { capacity: 5, tokensPerSecond: 1 },
  window: { limit: 4, windowMs: 1_000 },
  slots: { maxConcurrent: 2, leaseMs: 1_000 },
  trial: { capacity: 2, tokensPerSecond: 1, shadow: true },
  open: { capacity: -1, tokensPerSecond: 1 },
  openWindow: { limit: -1, windowMs: 1_000 },
  openSlots: { maxConcurrent: -1 },
  closed: { capacity: 0, tokensPerSecond: 1 },
  closedWindow: { limit: 0, windowMs: 1_000 },
  closedSlots: { maxConcurrent: 0 },
  closedTrial: { capacity: 0, tokensPerSecond: 1, shadow: true },
} satisfies Record<string, PlanDefinition>;

/** A store that answers later, as one across a network does. */
class SlowStore extends MemoryStore {
  override decide(inquiry: Inquiry): Decision {
    return Promise.resolve().then(() => super.decide(inquiry)) as unknown as Decision;
  }
}

/** A registry that wraps every answer. */
class WrappingRegistry extends PlanRegistry {
  constructor(
    readonly plans: Readonly<Record<string, PlanDefinition>>,
    readonly wrap: (value: PlanDefinition | undefined) => unknown,
  ) {
    super();
  }

  override find(name: string): Awaitable<PlanDefinition | undefined> {
    return this.wrap(this.plans[name]) as Awaitable<PlanDefinition | undefined>;
  }

  override names(): Promise<readonly string[]> {
    return Promise.resolve(Object.keys(this.plans));
  }
}

const foreign = (value: unknown) => ({
  then: (resolve: (value: unknown) => void) => resolve(value),
});

function createLimiter(registry: PlanRegistry = new InMemoryPlanRegistry(PLANS), slow = false) {
  const clock = new FakeClock();
  const store = slow ? new SlowStore(clock) : new MemoryStore(clock);
  let leases = 0;
  const limiter = new RateLimiter({ registry, store, newLeaseId: () => `lease-${leases++}` });
  const remaining = async (key: string, plan: string) =>
    (await limiter.peek(key, plan)).remainingTokens;
  return { clock, store, limiter, remaining };
}

describe('allow', () => {
  it('spends one token unless told otherwise', async () => {
    const { limiter } = createLimiter();
    expect(await limiter.allow('user', 'gold')).toMatchObject({
      allowed: true,
      remainingTokens: 9,
      retryAfterMs: 0,
      reason: 'ALLOWED',
    });
    expect(await limiter.allow('user', 'gold', 4)).toMatchObject({ remainingTokens: 5 });
  });

  it('denies when a plan has too few, and tells how long to wait', async () => {
    const { limiter } = createLimiter();
    await limiter.allow('user', 'gold', 10);
    expect(await limiter.allow('user', 'gold', 3)).toMatchObject({
      allowed: false,
      remainingTokens: 0,
      retryAfterMs: 300,
      reason: 'LIMIT_EXCEEDED',
    });
  });

  it('decides a chain as one', async () => {
    const { limiter, remaining } = createLimiter();
    const chain = ['gold', 'silver', 'window'];
    expect(await limiter.allow('user', chain, 4)).toMatchObject({
      allowed: true,
      remainingTokens: 0,
      limits: [{ remaining: 6 }, { remaining: 1 }, { remaining: 0 }],
    });
    expect(await limiter.allow('user', chain)).toMatchObject({
      allowed: false,
      limits: [
        { plan: 'gold', denied: false, remaining: 6 },
        { plan: 'silver', denied: false, remaining: 1 },
        { plan: 'window', denied: true, remaining: 0 },
      ],
    });
    expect(await remaining('user', 'gold')).toBe(6);
    expect(await remaining('user', 'silver')).toBe(1);
  });

  it('keeps keys apart', async () => {
    const { limiter, remaining } = createLimiter();
    await limiter.allow('one', 'gold', 10);
    expect(await remaining('other', 'gold')).toBe(10);
  });

  it('takes a key and tokens of its own for each plan', async () => {
    const { limiter, remaining } = createLimiter();
    const chain: PlanChain = [
      'gold',
      { plan: 'gold', key: 'everybody', tokens: 3 },
      { plan: 'silver', tokens: 5 },
      { plan: 'window', key: 'address' },
    ];
    expect((await limiter.allow('user', chain, 2)).allowed).toBe(true);
    expect(await remaining('user', 'gold')).toBe(8);
    expect(await remaining('everybody', 'gold')).toBe(7);
    expect(await remaining('user', 'silver')).toBe(0);
    expect(await remaining('address', 'window')).toBe(2);
    expect(await remaining('user', 'window')).toBe(4);
  });

  it('takes a single reference', async () => {
    const { limiter, remaining } = createLimiter();
    await limiter.allow('user', { plan: 'gold', key: 'other', tokens: 6 });
    expect(await remaining('other', 'gold')).toBe(4);
    expect(await remaining('user', 'gold')).toBe(10);
  });

  it('charges a limit that is named twice for the sum', async () => {
    const { limiter, remaining } = createLimiter();
    const twice: PlanChain = ['gold', { plan: 'gold', tokens: 4 }];
    expect(await limiter.allow('user', twice, 2)).toMatchObject({
      allowed: true,
      limits: [{ plan: 'gold', remaining: 4 }],
    });
    expect(await limiter.allow('user', twice, 2)).toMatchObject({ allowed: false });
    expect(await remaining('user', 'gold')).toBe(4);
    expect(await limiter.allow('user', ['gold', 'gold'], 6)).toMatchObject({
      reason: 'COST_EXCEEDS_CAPACITY',
    });
  });

  it('takes a rate in the place of a plan', async () => {
    const { limiter } = createLimiter();
    expect(await limiter.allow('user', '5/10s', 4)).toMatchObject({ remainingTokens: 1 });
    expect(await limiter.allow('user', ' 5 / 10 S', 1)).toMatchObject({ remainingTokens: 0 });
    expect(await limiter.allow('user', '5/10s')).toMatchObject({
      allowed: false,
      retryAfterMs: 2_000,
      limits: [{ plan: '5/10s', quota: 5, windowMs: 10_000 }],
    });
    expect(await limiter.allow('user', '6/10s')).toMatchObject({ allowed: true });
  });

  it('allows everything by an empty chain', async () => {
    const { limiter } = createLimiter();
    expect(await limiter.allow('user', [])).toMatchObject({ allowed: true, reason: 'UNLIMITED' });
  });

  it('tells a whole millisecond at which it is allowed, and not the one before', async () => {
    const { clock, limiter } = createLimiter();
    for (const plan of ['3/s', '7/s', '100/minute', '9/11ms', '1000/7s']) {
      const [tokens] = plan.split('/').map(Number);
      await limiter.allow('user', plan, tokens);
      clock.advanceUs(123);
      const { retryAfterMs } = await limiter.allow('user', plan);
      clock.advanceMs(retryAfterMs! - 1);
      expect((await limiter.peek('user', plan)).allowed).toBe(false);
      clock.advanceMs(1);
      expect((await limiter.allow('user', plan)).allowed).toBe(true);
    }
  });

  it('waits for the slowest of the plans that deny', async () => {
    const { limiter } = createLimiter();
    await limiter.allow('user', [
      { plan: 'gold', tokens: 10 },
      { plan: 'silver', tokens: 5 },
    ]);
    expect(await limiter.allow('user', ['gold', 'silver', 'window'])).toMatchObject({
      retryAfterMs: 1_000,
      limits: [{ retryAfterMs: 100 }, { retryAfterMs: 1_000 }, { retryAfterMs: 0 }],
    });
  });

  it.each(['gold', 'window'])(
    'has a reason of its own for a cost above all of %s',
    async (plan) => {
      const { limiter, remaining } = createLimiter();
      const before = await remaining('user', plan);
      expect(await limiter.allow('user', plan, 11)).toMatchObject({
        allowed: false,
        remainingTokens: before,
        retryAfterMs: null,
        reason: 'COST_EXCEEDS_CAPACITY',
      });
      expect(await remaining('user', plan)).toBe(before);
    },
  );

  it('throws for a plan that lends slots, and spends nothing', async () => {
    const { limiter, store } = createLimiter();
    const allowing = limiter.allow('user', ['gold', 'slots']);
    await expect(allowing).rejects.toBeInstanceOf(LeaseRequiredError);
    await expect(allowing).rejects.toMatchObject({
      code: 'LEASE_REQUIRED',
      message:
        'Plan "slots" lends concurrency slots, which have to be given back: ' +
        'call acquire() and release the lease instead of allow().',
    });
    expect(store.size).toBe(0);
  });

  it('sees a plan that was replaced at once, and keeps what was spent', async () => {
    const registry = new InMemoryPlanRegistry(PLANS);
    const { limiter } = createLimiter(registry);
    await limiter.allow('user', 'gold', 4);
    registry.set('gold', { capacity: 3, tokensPerSecond: 1 });
    expect(await limiter.allow('user', 'gold')).toMatchObject({ remainingTokens: 2 });
    registry.set('gold', { limit: 3, windowMs: 1_000 });
    expect(await limiter.allow('user', 'gold')).toMatchObject({
      remainingTokens: 1,
      limits: [{ kind: 'sliding-window' }],
    });
    registry.set('gold', { capacity: -1, tokensPerSecond: 1 });
    expect(await limiter.allow('user', 'gold')).toMatchObject({ reason: 'UNLIMITED' });
  });
});

describe('plans of −1, 0 and shadows', () => {
  it.each(['open', 'openWindow'])('%s does not limit', async (plan) => {
    const { limiter, store } = createLimiter();
    expect(await limiter.allow('user', plan, 1_000_000)).toMatchObject({
      allowed: true,
      remainingTokens: Infinity,
      reason: 'UNLIMITED',
      limits: [],
    });
    expect(store.size).toBe(0);
  });

  it('openSlots lends without counting, and needs no lease', async () => {
    const { limiter } = createLimiter();
    expect((await limiter.allow('user', 'openSlots')).allowed).toBe(true);
    const lease = await limiter.acquire('user', 'openSlots');
    expect(lease).toMatchObject({ allowed: true, reason: 'UNLIMITED', held: undefined });
  });

  it('−1 leaves the rest of a chain to limit', async () => {
    const { limiter } = createLimiter();
    expect(await limiter.allow('user', ['open', 'silver'], 5)).toMatchObject({
      allowed: true,
      reason: 'ALLOWED',
      limits: [{ plan: 'silver', remaining: 0 }],
    });
    expect((await limiter.allow('user', ['open', 'silver'])).allowed).toBe(false);
  });

  it.each(['closed', 'closedWindow', 'closedSlots', '0/s'])('%s denies all', async (plan) => {
    const { limiter, store } = createLimiter();
    expect(await limiter.allow('user', [plan, 'gold'])).toMatchObject({
      allowed: false,
      remainingTokens: 0,
      retryAfterMs: null,
      reason: 'DENIED_BY_PLAN',
      limits: [{ plan, denied: true, retryAfterMs: null }],
    });
    expect(store.size).toBe(0);
  });

  it('0 lends no slot and books no turn', async () => {
    const { limiter, store } = createLimiter();
    const lease = await limiter.acquire('user', ['slots', 'closed']);
    expect(lease).toMatchObject({ allowed: false, reason: 'DENIED_BY_PLAN', held: undefined });
    const turn = await limiter.reserve('user', ['gold', 'closedSlots'], { maxWaitMs: 1e9 });
    expect(turn).toMatchObject({ allowed: false, reason: 'DENIED_BY_PLAN', waitMs: 0 });
    expect(store.size).toBe(0);
  });

  it('a shadow never denies, and tells that it would have', async () => {
    const { limiter, remaining } = createLimiter();
    const answers = [];
    for (let times = 0; times < 3; times++) {
      answers.push(await limiter.allow('user', ['trial', 'gold']));
    }
    expect(answers.map(({ allowed }) => allowed)).toEqual([true, true, true]);
    expect(answers.map(({ limits }) => limits[0]!.denied)).toEqual([false, false, true]);
    expect(answers[2]).toMatchObject({
      reason: 'ALLOWED',
      remainingTokens: 7,
      retryAfterMs: 0,
      limits: [{ plan: 'trial', shadow: true, retryAfterMs: 1_000 }, { plan: 'gold' }],
    });
    expect(await remaining('user', 'gold')).toBe(7);
  });

  it('a shadow of 0 tells that it would deny, and the rest decides', async () => {
    const { limiter, remaining } = createLimiter();
    expect(await limiter.allow('user', ['closedTrial', 'silver'], 5)).toMatchObject({
      allowed: true,
      remainingTokens: 0,
      reason: 'ALLOWED',
      limits: [
        { plan: 'silver', denied: false },
        { plan: 'closedTrial', denied: true, shadow: true, retryAfterMs: null },
      ],
    });
    expect(await limiter.allow('user', ['closedTrial', 'silver'])).toMatchObject({
      allowed: false,
      retryAfterMs: 1_000,
      reason: 'LIMIT_EXCEEDED',
    });
    expect(await limiter.allow('user', 'closedTrial')).toMatchObject({
      allowed: true,
      remainingTokens: Infinity,
    });
    expect(await limiter.allow('user', ['closedTrial', 'closed'])).toMatchObject({
      allowed: false,
      reason: 'DENIED_BY_PLAN',
    });
    expect(await remaining('user', 'silver')).toBe(0);
  });
});

describe('bad calls', () => {
  const BAD_TOKENS: readonly (readonly [unknown, string])[] = [
    [Number.NaN, 'NaN'],
    [Infinity, 'Infinity'],
    [-Infinity, '-Infinity'],
    [-5, '-5'],
    [0, '0'],
    [-0, '0'],
    [0.5, '0.5'],
    [1.5, '1.5'],
    [2 ** 53, '9007199254740992'],
    ['1', '"1"'],
    ['1e3', '"1e3"'],
    ['0x10', '"0x10"'],
    [null, 'null'],
    [1n, '1'],
    [{}, '{}'],
  ];

  it.each(BAD_TOKENS)('refuse to spend %p tokens', async (tokens, shown) => {
    const { limiter, store } = createLimiter();
    const cost = tokens as number;
    const error = {
      code: 'INVALID_TOKENS',
      message: `Expected tokens to be a whole number from 1 up, got ${shown}.`,
    };
    await expect(limiter.allow('user', 'gold', cost)).rejects.toMatchObject(error);
    await expect(limiter.allow('user', 'open', cost)).rejects.toMatchObject(error);
    await expect(limiter.allow('user', 'closed', cost)).rejects.toMatchObject(error);
    await expect(limiter.peek('user', 'gold', cost)).rejects.toMatchObject(error);
    await expect(limiter.acquire('user', 'slots', cost)).rejects.toMatchObject(error);
    await expect(limiter.refund('user', 'gold', cost)).rejects.toMatchObject(error);
    const options = { maxWaitMs: 1_000, tokens: cost };
    await expect(limiter.reserve('user', 'gold', options)).rejects.toMatchObject(error);
    expect(store.size).toBe(0);
  });

  it('refuse bad tokens of one plan of a chain, and spend nothing', async () => {
    const { limiter, store } = createLimiter();
    const chain = ['gold', { plan: 'silver', tokens: -1 }];
    await expect(limiter.allow('user', chain)).rejects.toMatchObject({ code: 'INVALID_TOKENS' });
    expect(store.size).toBe(0);
  });

  it('take the largest whole number for what it is', async () => {
    const { limiter } = createLimiter();
    expect(await limiter.allow('user', 'gold', Number.MAX_SAFE_INTEGER)).toMatchObject({
      reason: 'COST_EXCEEDS_CAPACITY',
      retryAfterMs: null,
    });
  });

  it.each([
    ['', '""'],
    ['  ', '"  "'],
    ['\n\t', '"\\n\\t"'],
    [null, 'null'],
    [undefined, 'undefined'],
    [42, '42'],
    [{ id: 1 }, '{"id":1}'],
  ])('refuse the key %p', async (bad, shown) => {
    const { limiter, store } = createLimiter();
    const key = bad as string;
    const error = {
      code: 'INVALID_KEY',
      message:
        `Expected the key to be a string that names whom to count, got ${shown}. ` +
        'An empty key would be one bucket shared by strangers.',
    };
    await expect(limiter.allow(key, 'gold')).rejects.toMatchObject(error);
    await expect(limiter.allow(key, 'open')).rejects.toMatchObject(error);
    await expect(limiter.allow(key, 'closed')).rejects.toMatchObject(error);
    await expect(limiter.peek(key, 'gold')).rejects.toMatchObject(error);
    await expect(limiter.acquire(key, 'slots')).rejects.toMatchObject(error);
    await expect(limiter.reserve(key, 'gold', { maxWaitMs: 0 })).rejects.toMatchObject(error);
    await expect(limiter.refund(key, 'gold')).rejects.toMatchObject(error);
    await expect(limiter.reset(key, 'gold')).rejects.toMatchObject(error);
    expect(store.size).toBe(0);
  });

  it('refuse an empty key of one plan of a chain, and spend nothing', async () => {
    const { limiter, store } = createLimiter();
    const chain = ['gold', { plan: 'silver', key: '' }];
    await expect(limiter.allow('user', chain)).rejects.toMatchObject({ code: 'INVALID_KEY' });
    expect(store.size).toBe(0);
  });

  it('count by keys of a megabyte, and tell them apart', async () => {
    const { limiter, remaining } = createLimiter();
    const megabyte = 'x'.repeat(1_000_000);
    await limiter.allow(megabyte, 'gold', 10);
    expect((await limiter.allow(megabyte, 'gold')).allowed).toBe(false);
    expect(await remaining(`${megabyte}y`, 'gold')).toBe(10);
    expect(await remaining(`y${megabyte}`, 'gold')).toBe(10);
  });

  it.each([
    ['at once', (value: unknown) => value],
    ['by a promise', (value: unknown) => Promise.resolve(value)],
    ['by a foreign thenable', foreign],
  ])('name the known plans when one is unknown, found %s', async (_how, wrap) => {
    const { limiter, store } = createLimiter(
      new WrappingRegistry({ gold: '5/s', mini: '1/s' }, wrap),
    );
    await expect(limiter.allow('user', ['gold', 'golf'])).rejects.toMatchObject({
      code: 'UNKNOWN_PLAN',
      message: 'Unknown plan "golf". Known plans: "gold", "mini".',
    });
    expect(store.size).toBe(0);
  });

  it.each([Number.NaN, -1, undefined])('refuse to wait %p ms', async (maxWaitMs) => {
    const { limiter } = createLimiter();
    const options = { maxWaitMs: maxWaitMs as number };
    await expect(limiter.reserve('user', 'gold', options)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message:
        'Expected `maxWaitMs` to be a number of milliseconds from 0 up, ' + `got ${maxWaitMs}.`,
    });
  });
});

describe('registries and stores that answer later', () => {
  it.each([
    ['a registry that promises', (value: unknown) => Promise.resolve(value), false],
    ['a registry of foreign thenables', foreign, false],
    ['a store that promises', (value: unknown) => value, true],
    ['both', (value: unknown) => Promise.resolve(value), true],
  ])('%s are waited for', async (_who, wrap, slow) => {
    const { limiter, remaining } = createLimiter(new WrappingRegistry(PLANS, wrap), slow);
    const chain: PlanChain = ['gold', { plan: 'silver', tokens: 2 }, 'open', 'window', '9/s'];
    const allowed = await limiter.allow('user', chain);
    expect(allowed).toMatchObject({ allowed: true, remainingTokens: 3 });
    expect(allowed.limits.map((limit) => limit.plan)).toEqual(['gold', 'silver', 'window', '9/s']);
    const lease = await limiter.acquire('user', ['gold', 'slots']);
    expect(lease.limits.map((limit) => limit.remaining)).toEqual([8, 1]);
    await lease.release();
    expect(await remaining('user', 'slots')).toBe(2);
    const turn = await limiter.reserve('user', 'gold', { maxWaitMs: 1_000, tokens: 10 });
    expect(turn).toMatchObject({ allowed: true, waitMs: 200 });
    await turn.cancel();
    expect(await remaining('user', 'gold')).toBe(8);
  });
});

describe('peek', () => {
  it('tells what allow would answer, and spends nothing', async () => {
    const { limiter, store } = createLimiter();
    const chain = ['gold', 'silver'];
    expect(await limiter.peek('user', chain, 5)).toMatchObject({
      allowed: true,
      remainingTokens: 5,
      reason: 'ALLOWED',
    });
    expect(store.size).toBe(0);
    await limiter.allow('user', chain, 5);
    expect(await limiter.peek('user', chain)).toMatchObject({
      allowed: false,
      retryAfterMs: 1_000,
      reason: 'LIMIT_EXCEEDED',
    });
    expect(await limiter.peek('user', chain, 6)).toMatchObject({ reason: 'COST_EXCEEDS_CAPACITY' });
  });

  it('may look at slots', async () => {
    const { limiter } = createLimiter();
    await limiter.acquire('user', 'slots');
    expect(await limiter.peek('user', 'slots')).toMatchObject({ remainingTokens: 1 });
    expect(await limiter.peek('user', 'slots')).toMatchObject({ remainingTokens: 1 });
  });
});

describe('refund', () => {
  it('puts tokens back, never above what a plan holds', async () => {
    const { limiter, remaining } = createLimiter();
    await limiter.allow('user', ['gold', 'window'], 4);
    await limiter.refund('user', ['gold', 'window'], 3);
    expect([await remaining('user', 'gold'), await remaining('user', 'window')]).toEqual([9, 3]);
    await limiter.refund('user', ['gold', 'window'], 100);
    expect([await remaining('user', 'gold'), await remaining('user', 'window')]).toEqual([10, 4]);
  });

  it('takes a key and tokens of its own for each plan', async () => {
    const { limiter, remaining } = createLimiter();
    await limiter.allow('user', { plan: 'gold', key: 'other', tokens: 5 });
    await limiter.refund('user', [{ plan: 'gold', key: 'other', tokens: 2 }]);
    expect(await remaining('other', 'gold')).toBe(7);
  });

  it('does nothing for plans of −1 and 0 and for keys without a past', async () => {
    const { limiter, store } = createLimiter();
    await limiter.refund('user', ['open', 'closed', 'gold']);
    await limiter.refund('user', 'open');
    expect(store.size).toBe(0);
  });
});

describe('refundCharge', () => {
  it('gives back what a lease was charged for these plans, once, and nothing for the others', async () => {
    const { limiter, remaining } = createLimiter();
    const lease = await limiter.acquire('user', ['gold', 'silver'], 4);
    await limiter.refundCharge(lease, [{ plan: 'gold', key: 'user', tokens: 4 }]);
    expect([await remaining('user', 'gold'), await remaining('user', 'silver')]).toEqual([10, 1]);
    await limiter.allow('user', 'gold', 5);
    const again = ['gold', 'window'].map((plan) => ({ plan, key: 'user', tokens: 4 }));
    await limiter.refundCharge(lease, again);
    expect(await remaining('user', 'gold')).toBe(5);
  });
});

describe('reset', () => {
  it('forgets what a key has spent in these plans, and nothing else', async () => {
    const { limiter, remaining } = createLimiter();
    await limiter.allow('user', ['gold', 'silver'], 5);
    await limiter.allow('other', 'gold', 5);
    await limiter.reset('user', ['gold', 'open']);
    expect(await remaining('user', 'gold')).toBe(10);
    expect(await remaining('user', 'silver')).toBe(0);
    expect(await remaining('other', 'gold')).toBe(5);
  });

  it('frees slots', async () => {
    const { limiter, remaining } = createLimiter();
    await limiter.acquire('user', 'slots');
    await limiter.reset('user', 'slots');
    expect(await remaining('user', 'slots')).toBe(2);
  });
});

describe('acquire', () => {
  it('takes slots and spends tokens together', async () => {
    const { limiter, remaining } = createLimiter();
    const lease = await limiter.acquire('user', ['slots', 'gold'], 3);
    expect(lease).toMatchObject({ allowed: true, remainingTokens: 1 });
    expect(await remaining('user', 'gold')).toBe(7);
    await lease.release();
    expect(await remaining('user', 'slots')).toBe(2);
    expect(await remaining('user', 'gold')).toBe(7);
  });

  it('holds nothing when it is denied', async () => {
    const { limiter, remaining } = createLimiter();
    await limiter.allow('user', 'silver', 5);
    const lease = await limiter.acquire('user', ['slots', 'silver']);
    expect(lease).toMatchObject({ allowed: false, retryAfterMs: 1_000, held: undefined });
    await lease.release();
    expect(await remaining('user', 'slots')).toBe(2);
  });

  it('spends nothing when no slot is free', async () => {
    const { limiter, remaining } = createLimiter();
    await limiter.acquire('user', 'slots');
    await limiter.acquire('user', 'slots');
    expect(await limiter.acquire('user', ['gold', 'slots'])).toMatchObject({
      allowed: false,
      reason: 'LIMIT_EXCEEDED',
      retryAfterMs: 1_000,
    });
    expect(await remaining('user', 'gold')).toBe(10);
  });

  it('lends every caller a slot of its own', async () => {
    const { limiter, remaining } = createLimiter();
    const [one, other] = [
      await limiter.acquire('user', 'slots'),
      await limiter.acquire('user', 'slots'),
    ];
    expect(one.held!.leaseId).not.toBe(other.held!.leaseId);
    await one.release();
    await one.release();
    expect(await remaining('user', 'slots')).toBe(1);
  });

  it('lends one slot when a plan is named twice', async () => {
    const { limiter, remaining } = createLimiter();
    await limiter.acquire('user', ['slots', 'slots']);
    expect(await remaining('user', 'slots')).toBe(1);
  });

  it('answers without a promise where the registry and the store do', async () => {
    const { limiter } = createLimiter();
    expect(limiter.acquireNow('user', ['slots', 'gold'], 2)).toMatchObject({
      allowed: true,
      limits: [{ remaining: 1 }, { remaining: 8 }],
    });
    const later = createLimiter(new WrappingRegistry(PLANS, (value) => Promise.resolve(value)));
    expect(await later.limiter.acquireNow('user', 'slots', 1)).toMatchObject({ allowed: true });
  });

  it('works for plans that lend nothing', async () => {
    const { limiter, remaining } = createLimiter();
    const lease = await limiter.acquire('user', 'gold');
    expect(lease).toMatchObject({ allowed: true, held: undefined });
    await lease.release();
    expect(await remaining('user', 'gold')).toBe(9);
  });

  it('releases only the slots that were lent: not that of a shadow that said no', async () => {
    const plans = { ...PLANS, few: { maxConcurrent: 1, shadow: true } };
    const { limiter, remaining } = createLimiter(new InMemoryPlanRegistry(plans));
    const first = await limiter.acquire('user', ['slots', 'few']);
    const second = await limiter.acquire('user', ['slots', 'few']);
    expect(first.held!.limits.map(({ plan }) => plan.name)).toEqual(['slots', 'few']);
    expect(second.held!.limits.map(({ plan }) => plan.name)).toEqual(['slots']);
    await second.release();
    expect((await limiter.peek('user', 'few')).limits[0]!.remaining).toBe(0);
    await first.release();
    expect(await remaining('user', 'slots')).toBe(2);
  });
});

describe('reserve', () => {
  it('books turns in the order of arrival', async () => {
    const { limiter } = createLimiter();
    const waits = [];
    for (const tokens of [10, 1, 2, 1]) {
      waits.push((await limiter.reserve('user', 'gold', { maxWaitMs: 1_000, tokens })).waitMs);
    }
    expect(waits).toEqual([0, 100, 300, 400]);
  });

  it('books one token unless told otherwise', async () => {
    const { limiter, remaining } = createLimiter();
    await limiter.reserve('user', 'gold', { maxWaitMs: 0 });
    expect(await remaining('user', 'gold')).toBe(9);
  });

  it('spends nothing when the wait would be too long', async () => {
    const { limiter } = createLimiter();
    await limiter.allow('user', 'gold', 10);
    expect(await limiter.reserve('user', 'gold', { maxWaitMs: 99.999 })).toMatchObject({
      allowed: false,
      reason: 'LIMIT_EXCEEDED',
      retryAfterMs: 100,
      waitMs: 0,
    });
    expect(await limiter.reserve('user', 'gold', { maxWaitMs: 100 })).toMatchObject({
      allowed: true,
      reason: 'ALLOWED',
      waitMs: 100,
    });
  });

  it.each([0, 1e9, Number.MAX_VALUE, Infinity])(
    'never books more than a plan can hold, not even for %d ms',
    async (maxWaitMs) => {
      const { limiter, store } = createLimiter();
      const turn = await limiter.reserve('user', ['gold', 'slots'], { maxWaitMs, tokens: 11 });
      expect(turn).toMatchObject({
        allowed: false,
        retryAfterMs: null,
        reason: 'COST_EXCEEDS_CAPACITY',
        held: undefined,
      });
      expect(store.size).toBe(0);
    },
  );

  it('books at most ten years ahead', async () => {
    const { limiter } = createLimiter();
    const turns = [];
    for (let years = 0; years <= 12; years++) {
      turns.push(await limiter.reserve('user', '1/365d', { maxWaitMs: Infinity }));
    }
    expect(turns.filter(({ allowed }) => allowed)).toHaveLength(11);
    expect(turns[10]!.waitMs / 86_400_000).toBeCloseTo(3_650, 2);
  });

  it('holds a slot from now until its lease ends, which runs from its turn', async () => {
    const { clock, limiter, remaining } = createLimiter();
    await limiter.allow('user', 'gold', 10);
    await limiter.acquire('user', 'slots');
    const turn = await limiter.reserve('user', ['gold', 'slots'], { maxWaitMs: 1_000, tokens: 5 });
    expect(turn.waitMs).toBe(500);
    expect(await remaining('user', 'slots')).toBe(0);
    clock.advanceUs(1_499_999);
    expect(await remaining('user', 'slots')).toBe(1);
    clock.advanceUs(1);
    expect(await remaining('user', 'slots')).toBe(2);
  });

  it('does not wait for a slot', async () => {
    const { limiter, remaining } = createLimiter();
    await limiter.acquire('user', 'slots');
    await limiter.acquire('user', 'slots');
    const turn = await limiter.reserve('user', ['gold', 'slots'], { maxWaitMs: 1e9 });
    expect(turn.allowed).toBe(false);
    expect(await remaining('user', 'gold')).toBe(10);
  });

  it('has no turn to wait for when nothing limits', async () => {
    const { limiter } = createLimiter();
    const turn = await limiter.reserve('user', 'open', { maxWaitMs: 0, tokens: 1_000 });
    expect(turn).toMatchObject({ allowed: true, waitMs: 0, reason: 'UNLIMITED' });
    await turn.cancel();
  });
});
