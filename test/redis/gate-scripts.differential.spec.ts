import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import type { GateChange } from '../../lib/core/gate.js';
import type { Inquiry } from '../../lib/core/limit-store.js';
import type { ConcurrencyPlan, Plan, TokenBucketPlan } from '../../lib/core/plan.js';
import { encodeGateChange } from '../../lib/redis/gate-message.js';
import { DECIDE, GATE, GIVE_BACK, RENEW } from '../../lib/redis/lua.js';
import { rateOf } from '../../lib/redis/plan-parameters.js';
import { askScript, TICKET } from '../support/ask-script.js';
import { sharedRedis } from '../support/redis-servers.js';
import type { StoredLimit } from '../support/stored-limits.js';
import { storedLimit, StoredLimits } from '../support/stored-limits.js';

/** Raise it to search longer: FAST_CHECK_RUNS=10000 npm test -- test/redis/gate-scripts */
const RUNS = Number(process.env['FAST_CHECK_RUNS'] ?? 200);
const START_US = 1_800_000_000_000_003;
const PLANS = [
  definePlan('small', { capacity: 3, tokensPerSecond: 1.7 }),
  definePlan('large', { capacity: 1_000, tokensPerSecond: 333.3 }),
  definePlan('slow', '5/day'),
] as TokenBucketPlan[];

let client: Redis;

beforeAll(() => {
  client = new Redis(sharedRedis.url);
});

afterAll(() => client.quit());

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
    plan: fc.constantFrom(...PLANS),
    pauseUs: fc.integer({ min: -5_000_000, max: 200_000_000_000 }),
  });

  it('see the same level of a bucket, and leave alone what is none', async () => {
    const same = fc.asyncProperty(worlds, async ({ stored, plan, pauseUs }) => {
      const nowUs = START_US + pauseUs;
      const limits = new StoredLimits(client, randomUUID());
      const names = ['decided', 'refunded', ...GATE_CHANGES.map(({ change }) => change.kind)];
      for (const name of names) await limits.write(name, stored, START_US);
      const level = isBucket(stored) ? await levelOf(limits, plan, nowUs) : undefined;
      await expectRefund(limits, plan, level, nowUs);
      for (const one of GATE_CHANGES) {
        await expectGateChange(limits, one, plan, level, nowUs);
      }
      await limits.remove([...names, 'gate']);
    });
    await fc.assert(same, { numRuns: RUNS, interruptAfterTimeLimit: 20_000 });
  }, 60_000);

  it('note alike that a process has turns, also after the clock went back', async () => {
    const time = fc.constantFrom(-1, 1, 600_000, 2_250_000, 5_000_000).map((us) => START_US + us);
    const gates = fc.record(
      { mx: time, x: time, e: time, 'm:me': fc.tuple(time, time).map((times) => times.join(' ')) },
      { requiredKeys: ['mx'] },
    );
    const same = fc.asyncProperty(gates, async (gate) => {
      const limits = new StoredLimits(client, randomUUID());
      for (const name of ['booked', 'beating']) await client.hset(limits.keyOf(name), gate);
      const owing = [
        ['t', [{ kind: 'double', value: -2 }]],
        ['ts', [{ kind: 'sinceNow', value: 0 }]],
      ] as const;
      await limits.write('bucket', { type: 'hash', fields: owing }, START_US);
      const inquiry: Inquiry = {
        limits: [{ plan: PLANS[0]!, key: '', cost: 1 }],
        mode: 'reserve',
        maxWaitUs: 60_000_000,
        leaseId: '',
        gate: { key: '', probeUs: 1_000, holder: 'me' },
      };
      const beganMs = performance.now();
      const keys = [limits.keyOf('booked'), limits.keyOf('bucket')];
      const reply = await askScript(client, DECIDE, [{ inquiry, keys }], START_US);
      const [allowed, waitUs] = [reply[1], reply[8]!];
      expect([allowed, waitUs]).toEqual([1, 1_764_706]);
      const change: GateChange = {
        kind: 'beat',
        gate: inquiry.gate!,
        bucket: inquiry.limits[0]!,
        memoryUs: 0,
        dueUs: START_US + waitUs,
        slots: undefined,
      };
      const beating = limits.keyOf('beating');
      const args = encodeGateChange(change, undefined, randomUUID(), 'gate');
      await client.eval(GATE, 2, beating, beating, START_US, ...args, TICKET);
      const slackMs = performance.now() - beganMs + 1;
      const [one, other] = [await limits.read('booked'), await limits.read('beating')];
      expect(await client.hgetall(beating)).toEqual(await client.hgetall(keys[0]!));
      expect(Math.abs(one.expiresMs - other.expiresMs)).toBeLessThanOrEqual(slackMs);
      await limits.remove(['booked', 'beating', 'bucket']);
    });
    await fc.assert(same, { numRuns: 100 });
  }, 60_000);

  it('keep leases as long as each other', async () => {
    const ends = fc.uniqueArray(fc.integer({ min: 1, max: 90_000_000 }), { maxLength: 5 });
    const same = fc.asyncProperty(ends, async (endsUs) => {
      const plan = definePlan('slots', { maxConcurrent: 9, leaseMs: 30_000 }) as ConcurrencyPlan;
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
      await askScript(client, DECIDE, [{ inquiry, keys: [limits.keyOf('taken')] }], START_US);
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
  const [, status] = await askScript(
    client,
    DECIDE,
    [{ inquiry, keys: [limits.keyOf(name)] }],
    nowUs,
  );
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
