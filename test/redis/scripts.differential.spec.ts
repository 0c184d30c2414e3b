import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import type { GateChange } from '../../lib/core/gate.js';
import type { Inquiry } from '../../lib/core/limit-store.js';
import type { Plan, TokenBucketPlan } from '../../lib/core/plan.js';
import type { Question } from '../../lib/redis/decide-message.js';
import { countAnswered, decode, encode, isCutShort } from '../../lib/redis/decide-message.js';
import { encodeGateChange } from '../../lib/redis/gate-message.js';
import { DECIDE, DECIDE_BUCKETS, GATE, GIVE_BACK, RENEW } from '../../lib/redis/lua.js';
import { rateOf } from '../../lib/redis/plan-parameters.js';
import { sharedRedis } from '../support/redis-servers.js';
import type { StoredLimit } from '../support/stored-limits.js';
import { storedLimit, StoredLimits } from '../support/stored-limits.js';

/** Raise it to search longer: FAST_CHECK_RUNS=10000 npm test -- test/redis/scripts.differential */
const RUNS = Number(process.env['FAST_CHECK_RUNS'] ?? 200);
const START_US = 1_800_000_000_000_003;
const TICKET = 4711;

/** The last two have the name of others: definitions of an earlier deployment. */
const PLANS = [
  definePlan('small', { capacity: 3, tokensPerSecond: 1.7 }),
  definePlan('large', { capacity: 1_000, tokensPerSecond: 333.3 }),
  definePlan('slow', '5/day'),
  definePlan('shadow', { capacity: 2, tokensPerSecond: 0.5, shadow: true }),
  definePlan('small', { capacity: 8, tokensPerSecond: 0.3 }),
  definePlan('slow', '40/8d'),
] as const;
const NAMES = ['small', 'large', 'slow', 'shadow'] as const;

const chain = fc.record({
  names: fc.shuffledSubarray([...NAMES], { minLength: 1, maxLength: 3 }),
  isOfEarlierDeployment: fc.nat(4).map((n) => n === 0),
  cost: fc.oneof(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 1, max: 1_100 })),
  mode: fc.constantFrom<Inquiry['mode']>('take', 'take', 'take', 'peek', 'reserve'),
  maxWaitUs: fc.constantFrom(0, 500_000, 5_000_000, 100_000_000_000),
});
type Chain = typeof chain extends fc.Arbitrary<infer T> ? T : never;

/** Messages of one to four chains, each some time after the one before it, or before that. */
const step = fc.record({
  chains: fc.array(chain, { minLength: 1, maxLength: 4 }),
  pauseUs: fc.oneof(
    fc.constant(0),
    fc.integer({ min: 0, max: 3_000_000 }),
    fc.integer({ min: -5_000_000, max: 200_000_000_000 }),
  ),
});

let client: Redis;

beforeAll(() => {
  client = new Redis(sharedRedis.url);
});

afterAll(() => client.quit());

function planOf(name: string, isOfEarlierDeployment: boolean): Plan {
  const known = PLANS.filter((plan) => plan.name === name);
  return (isOfEarlierDeployment && known[1]) || known[0]!;
}

function questionOf(one: Chain, nameKey: (plan: string) => string): Question {
  const { names, isOfEarlierDeployment, cost, mode, maxWaitUs } = one;
  const limits = names.map((name) => ({
    plan: planOf(name, isOfEarlierDeployment),
    key: '',
    cost,
  }));
  return { inquiry: { limits, mode, maxWaitUs, leaseId: '' }, keys: names.map(nameKey) };
}

async function ask(script: string, questions: readonly Question[], nowUs: number) {
  const { keys, args } = encode(questions, String(nowUs));
  const reply = await client.eval(script, keys.length, ...keys, ...args, TICKET);
  expect((reply as number[]).slice(0, 2)).toEqual([TICKET, nowUs]);
  return (reply as number[]).slice(1);
}

/** As the store does: what the fast script leaves is decided by the general one. */
async function askFast(questions: readonly Question[], nowUs: number): Promise<number[]> {
  const reply = await ask(DECIDE_BUCKETS, questions, nowUs);
  if (!isCutShort(reply)) return reply;
  const answered = countAnswered(questions, reply.length - 1);
  const left = await ask(DECIDE, questions.slice(answered), nowUs);
  return [...reply.slice(0, -1), ...left.slice(1)];
}

describe('decide_buckets and decide', () => {
  it('answer and store the same, whatever is stored and asked', async () => {
    const worlds = fc.record({
      stored: fc.tuple(storedLimit, storedLimit, storedLimit, storedLimit),
      steps: fc.array(step, { minLength: 1, maxLength: 12 }),
    });
    const same = fc.asyncProperty(worlds, async ({ stored, steps }) => {
      const fast = new StoredLimits(client, randomUUID());
      const general = new StoredLimits(client, randomUUID());
      for (const [i, name] of NAMES.entries()) {
        await fast.write(name, stored[i]!, START_US);
        await general.write(name, stored[i]!, START_US);
      }
      let nowUs = START_US;
      let slackMs = 0;
      for (const { chains, pauseUs } of steps) {
        nowUs += pauseUs;
        const beganMs = performance.now();
        const one = await askFast(
          chains.map((each) => questionOf(each, fast.keyOf)),
          nowUs,
        );
        const other = await ask(
          DECIDE,
          chains.map((each) => questionOf(each, general.keyOf)),
          nowUs,
        );
        // Keys that are written a moment later expire as much later.
        slackMs = Math.max(slackMs, Math.ceil(performance.now() - beganMs) + 1);
        expect(one).toEqual(other);
        for (const name of NAMES) {
          const [written, expected] = [await fast.read(name), await general.read(name)];
          expect(written.dump).toEqual(expected.dump);
          expect(Math.abs(written.expiresMs - expected.expiresMs)).toBeLessThanOrEqual(slackMs);
        }
      }
      await fast.remove(NAMES);
      await general.remove(NAMES);
    });
    await fc.assert(same, { numRuns: RUNS, interruptAfterTimeLimit: 30_000 });
  }, 60_000);

  it('name the plan of a key that is not ours, also where the cost is above the capacity', async () => {
    for (const [script, cost] of [DECIDE, DECIDE_BUCKETS].flatMap((s) =>
      [1, 4].map((c) => [s, c] as const),
    )) {
      const limits = new StoredLimits(client, randomUUID());
      await client.set(limits.keyOf('small'), 'a string', 'EX', 60);
      const inquiry: Inquiry = {
        limits: [{ plan: PLANS[0], key: '', cost }],
        mode: 'take',
        maxWaitUs: 0,
        leaseId: '',
      };
      const questions = [{ inquiry, keys: [limits.keyOf('small')] }];
      const [decision] = decode(questions, await ask(script, questions, START_US));
      expect(decision).toMatchObject({ name: 'UnreadableKeyError', plan: 'small' });
    }
  });
});

it('a bucket that a window counted in last, and lost its counts, is full', async () => {
  const limits = new StoredLimits(client, randomUUID());
  const x = [{ kind: 'raw', value: '\u0002'.padEnd(17) }] as const;
  await limits.write('small', { type: 'hash', fields: [['x', x]] }, START_US);
  const inquiry: Inquiry = {
    limits: [{ plan: PLANS[0], key: '', cost: 3 }],
    mode: 'take',
    maxWaitUs: 0,
    leaseId: '',
  };
  const questions = [{ inquiry, keys: [limits.keyOf('small')] }];
  expect((await askFast(questions, START_US)).slice(1, 4)).toEqual([1, 0, 0]);
  expect((await askFast(questions, START_US)).slice(1, 2)).toEqual([0]);
});

/** What a script may do to the bucket behind a gate, and what the bucket holds then, by what it held. */
const GATE_CHANGES = [
  {
    change: { kind: 'block', threshold: 1, cooldownUs: 1_000_000, retryAfterUs: 0 },
    after: (level: number) => Math.max(level, 0),
    state: [1, 1_000_000, 0, 1],
  },
  {
    change: { kind: 'success' },
    after: (level: number) => Math.min(level, 0),
    state: [0, 0, 0, 1],
  },
  {
    change: { kind: 'replan', wastedUs: 0, always: true },
    after: (level: number, plan: TokenBucketPlan) =>
      Math.max(level, (-50_000 * plan.refill) / plan.periodUs),
    state: [1, 0, 1, 1],
  },
] as const;

describe('gate, give_back and decide', () => {
  const worlds = fc.record({
    stored: storedLimit,
    plan: fc.constantFrom(PLANS[0], PLANS[1], PLANS[2]),
    pauseUs: fc.integer({ min: -5_000_000, max: 200_000_000_000 }),
  });

  it('see the same level of a bucket, and leave alone what is none', async () => {
    const same = fc.asyncProperty(worlds, async ({ stored, plan, pauseUs }) => {
      const nowUs = START_US + pauseUs;
      const limits = new StoredLimits(client, randomUUID());
      const names = ['decided', 'refunded', ...GATE_CHANGES.map(({ change }) => change.kind)];
      for (const name of names) await limits.write(name, stored, START_US);
      const level = isBucket(stored)
        ? await levelOf(limits, plan as TokenBucketPlan, nowUs)
        : undefined;
      await expectRefund(limits, plan as TokenBucketPlan, level, nowUs);
      for (const one of GATE_CHANGES) {
        await expectGateChange(limits, one, plan as TokenBucketPlan, level, nowUs);
      }
      await limits.remove([...names, 'gate']);
    });
    await fc.assert(same, { numRuns: RUNS, interruptAfterTimeLimit: 20_000 });
  }, 60_000);

  it('keep leases as long as each other', async () => {
    const ends = fc.uniqueArray(fc.integer({ min: 1, max: 90_000_000 }), { maxLength: 5 });
    const same = fc.asyncProperty(ends, async (endsUs) => {
      const plan = definePlan('slots', { maxConcurrent: 9, leaseMs: 30_000 });
      const limits = new StoredLimits(client, randomUUID());
      for (const name of ['taken', 'renewed']) {
        await client.zadd(limits.keyOf(name), START_US + 7, 'mine');
        for (const us of endsUs)
          await client.zadd(limits.keyOf(name), START_US + us, `other ${us}`);
      }
      const inquiry: Inquiry = {
        limits: [{ plan, key: '', cost: 1 }],
        mode: 'take',
        maxWaitUs: 0,
        leaseId: 'mine',
      };
      const beganMs = performance.now();
      await ask(DECIDE, [{ inquiry, keys: [limits.keyOf('taken')] }], START_US);
      const renewal = [START_US, 'mine', plan.leaseUs, TICKET];
      expect(await client.eval(RENEW, 1, limits.keyOf('renewed'), ...renewal)).toEqual([TICKET, 1]);
      const slackMs = performance.now() - beganMs + 1;
      const [taken, renewed] = [await limits.read('taken'), await limits.read('renewed')];
      expect(renewed.dump).toEqual(taken.dump);
      expect(Math.abs(renewed.expiresMs - taken.expiresMs)).toBeLessThanOrEqual(slackMs);
      await limits.remove(['taken', 'renewed']);
    });
    await fc.assert(same, { numRuns: 50 });
  }, 60_000);
});

/** Whether a gate may change it, and give_back: no newer schema, and no window was charged last. */
function isBucket(stored: StoredLimit): boolean {
  if (stored.type === 'nothing') return true;
  if (stored.type !== 'hash') return false;
  const fields = new Map(stored.fields);
  return fields.get('v')?.[0]?.value === '1' && fields.get('x')?.[0]?.value !== '\u0002';
}

/** What decide sees. */
async function levelOf(limits: StoredLimits, plan: Plan, nowUs: number): Promise<number> {
  await chargeNothing(limits, 'decided', plan, nowUs);
  return tokensOf(limits, 'decided');
}

/** Has decide store what it sees: a charge of nothing is admitted also where turns are booked. */
async function chargeNothing(
  limits: StoredLimits,
  name: string,
  plan: Plan,
  nowUs: number,
): Promise<void> {
  const inquiry: Inquiry = {
    limits: [{ plan, key: '', cost: 0 }],
    mode: 'reserve',
    maxWaitUs: 630_720_000_000_000,
    leaseId: '',
  };
  const [, status] = await ask(DECIDE, [{ inquiry, keys: [limits.keyOf(name)] }], nowUs);
  expect(status).toBe(1);
}

async function tokensOf(limits: StoredLimits, name: string): Promise<number> {
  return (await client.hgetBuffer(limits.keyOf(name), 't'))!.readDoubleLE();
}

async function expectRefund(
  limits: StoredLimits,
  plan: TokenBucketPlan,
  level: number | undefined,
  nowUs: number,
): Promise<void> {
  const before = await limits.read('refunded');
  const args = [nowUs, '', 1, plan.quota, ...rateOf(plan), 2, '', 0, 0, '', TICKET];
  const refunding = client.eval(GIVE_BACK, 1, limits.keyOf('refunded'), ...args);
  const refunded = level === undefined ? 0 : Math.min(plan.quota - level, 2);
  expect(await refunding).toEqual([TICKET, refunded > 0 ? 1 : 0]);
  if (refunded > 0) expect(await tokensOf(limits, 'refunded')).toBe(level! + refunded);
  else expect(await limits.read('refunded')).toEqual(before);
}

async function expectGateChange(
  limits: StoredLimits,
  { change, after, state }: (typeof GATE_CHANGES)[number],
  plan: TokenBucketPlan,
  level: number | undefined,
  nowUs: number,
): Promise<void> {
  const [gate, bucket] = [limits.keyOf('gate'), limits.keyOf(change.kind)];
  const before = await limits.read(change.kind);
  const full = { ...change, gate: { key: 'gate', probeUs: 0 }, memoryUs: 1_000_000 };
  // A cooldown is over, so that a success ends it; a block opens another one.
  await client.hset(gate, { g: 1, b: change.kind === 'block' ? 0 : 1, u: nowUs, x: nowUs + 1 });
  if (change.kind === 'block') await client.hset(gate, 'u', 0);
  const args = encodeGateChange(
    full as GateChange,
    { plan, key: '', cost: 1 },
    randomUUID(),
    'gate',
  );
  const reply = await client.eval(GATE, 2, gate, bucket, nowUs, ...args, TICKET);
  expect((reply as number[]).slice(3)).toEqual(state);
  const expected = level === undefined ? undefined : after(level, plan);
  if (level === expected) expect(await limits.read(change.kind)).toEqual(before);
  else {
    expect(await tokensOf(limits, change.kind)).toBe(expected);
    await expectArmed(limits, change.kind, plan, nowUs);
  }
}

/** To decide nothing is left to be written of a bucket that lives as long as it has to. */
async function expectArmed(
  limits: StoredLimits,
  name: string,
  plan: Plan,
  nowUs: number,
): Promise<void> {
  const written = await limits.read(name);
  const x = (await client.hgetBuffer(limits.keyOf(name), 'x'))!;
  // The rate is written with every charge where there is another count.
  if (x.length !== 16) return;
  await chargeNothing(limits, name, plan, nowUs);
  expect(await limits.read(name)).toEqual(written);
}
