import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import type { Inquiry } from '../../lib/core/limit-store.js';
import type { Plan } from '../../lib/core/plan.js';
import type { Question } from '../../lib/redis/decide-message.js';
import { countAnswered, decode, isCutShort } from '../../lib/redis/decide-message.js';
import { DECIDE, DECIDE_BUCKETS } from '../../lib/redis/lua.js';
import { askScript } from '../support/ask-script.js';
import { sharedRedis } from '../support/redis-servers.js';
import { storedLimit, StoredLimits } from '../support/stored-limits.js';

/** Raise it to search longer: FAST_CHECK_RUNS=10000 npm test -- test/redis/scripts.differential */
const RUNS = Number(process.env['FAST_CHECK_RUNS'] ?? 200);
const START_US = 1_800_000_000_000_003;

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

/** As the store does: what the fast script leaves is decided by the general one. */
async function askFast(questions: readonly Question[], nowUs: number): Promise<number[]> {
  const reply = await askScript(client, DECIDE_BUCKETS, questions, nowUs);
  if (!isCutShort(reply)) return reply;
  const answered = countAnswered(questions, reply.length - 1);
  const left = await askScript(client, DECIDE, questions.slice(answered), nowUs);
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
        const other = await askScript(
          client,
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
      const [decision] = decode(questions, await askScript(client, script, questions, START_US));
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
