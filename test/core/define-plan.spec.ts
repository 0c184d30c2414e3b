import { describe, expect, it } from '@jest/globals';
import { definePlan, planFromRate } from '../../lib/core/define-plan.js';
import { InvalidPlanError } from '../../lib/core/errors.js';
import type { PlanDefinition } from '../../lib/core/plan.js';

/** What somebody without types might write. */
const defineAny = (definition: unknown, name = 'gold') =>
  definePlan(name, definition as PlanDefinition);

function messageOf(define: () => unknown): string {
  try {
    define();
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidPlanError);
    expect(error).toMatchObject({ code: 'INVALID_PLAN', name: 'InvalidPlanError' });
    return (error as Error).message;
  }
  return 'nothing was thrown';
}

/** Every kind with its quota left to fill in. */
const QUOTAS = [
  ['capacity', (capacity: unknown) => ({ capacity, tokensPerSecond: 1 })],
  ['limit', (limit: unknown) => ({ limit, windowMs: 1_000 })],
  ['maxConcurrent', (maxConcurrent: unknown) => ({ maxConcurrent, leaseMs: 1_000 })],
] as const;

const PERIODS = [
  ['windowMs', (windowMs: unknown) => ({ limit: 5, windowMs })],
  ['leaseMs', (leaseMs: unknown) => ({ maxConcurrent: 5, leaseMs })],
  ['maxHoldMs', (maxHoldMs: unknown) => ({ maxConcurrent: 5, maxHoldMs })],
] as const;

const cross = <Q, V>(fields: readonly Q[], values: readonly V[]) =>
  fields.flatMap((field) => values.map((value) => [field, value] as const));

/** A value, and how an error message shows it. */
const NO_WHOLE_NUMBER: readonly (readonly [unknown, string])[] = [
  [Number.NaN, 'NaN'],
  [Infinity, 'Infinity'],
  [-Infinity, '-Infinity'],
  [0.5, '0.5'],
  [-0.5, '-0.5'],
  [-2, '-2'],
  [2 ** 53, '9007199254740992'],
  ['10', '"10"'],
  ['', '""'],
  ['1e3', '"1e3"'],
  [null, 'null'],
  [true, 'true'],
  [10n, '10'],
  [[10], '[10]'],
  [{}, '{}'],
  [() => 10, 'a function'],
];

describe('a plan', () => {
  it('of a capacity and a rate is a token bucket', () => {
    expect(definePlan('gold', { capacity: 10, tokensPerSecond: 4 })).toEqual({
      name: 'gold',
      label: 'gold',
      kind: 'token-bucket',
      quota: 10,
      windowMs: 2_500,
      refill: 4,
      periodUs: 1_000_000,
      shadow: false,
    });
  });

  it('of a limit and a window is a sliding window', () => {
    expect(definePlan('gold', { limit: 10, windowMs: 60_000 })).toEqual({
      name: 'gold',
      label: 'gold',
      kind: 'sliding-window',
      quota: 10,
      windowMs: 60_000,
      windowUs: 60_000_000,
      shadow: false,
    });
  });

  it('of a number of slots is a concurrency cap', () => {
    expect(definePlan('gold', { maxConcurrent: 10, leaseMs: 5_000 })).toEqual({
      name: 'gold',
      label: 'gold',
      kind: 'concurrency',
      quota: 10,
      windowMs: 0,
      leaseUs: 5_000_000,
      shadow: false,
    });
  });

  it('of a number of slots lends them for a minute', () => {
    expect(definePlan('gold', { maxConcurrent: 1 })).toMatchObject({ leaseUs: 60_000_000 });
  });

  it('of a number of slots may say how long one is held at most', () => {
    expect(definePlan('gold', { maxConcurrent: 1, maxHoldMs: 250 })).toMatchObject({
      maxHoldMs: 250,
    });
    expect(definePlan('gold', { maxConcurrent: 1 })).toMatchObject({ maxHoldMs: undefined });
  });

  it('of a rate in words is a token bucket that holds one period’s worth', () => {
    expect(definePlan('gold', '5/10s')).toEqual({
      name: 'gold',
      label: 'gold',
      kind: 'token-bucket',
      quota: 5,
      windowMs: 10_000,
      refill: 5,
      periodUs: 10_000_000,
      shadow: false,
    });
  });

  it.each([
    { kind: 'token-bucket', capacity: 1, tokensPerSecond: 1 },
    { kind: 'sliding-window', limit: 1, windowMs: 1 },
    { kind: 'concurrency', maxConcurrent: 1 },
  ] as const)('may say its kind: $kind', (definition) => {
    expect(definePlan('gold', definition).kind).toBe(definition.kind);
  });

  it.each([{ capacity: 1, tokensPerSecond: 1 }, { limit: 1, windowMs: 1 }, { maxConcurrent: 1 }])(
    'may be a shadow: %j',
    (definition) => {
      expect(definePlan('gold', { ...definition, shadow: true }).shadow).toBe(true);
      expect(definePlan('gold', { ...definition, shadow: false }).shadow).toBe(false);
    },
  );

  it('cannot be changed', () => {
    for (const definition of [
      '5/s',
      { capacity: 1, tokensPerSecond: 1 },
      { limit: 1, windowMs: 1 },
      { maxConcurrent: 1 },
    ] as const) {
      expect(Object.isFrozen(definePlan('gold', definition))).toBe(true);
    }
  });

  it('rounds up the time in which its quota is restored', () => {
    expect(definePlan('gold', { capacity: 1, tokensPerSecond: 3 }).windowMs).toBe(334);
    expect(definePlan('gold', { capacity: 1, tokensPerSecond: 1e300 }).windowMs).toBe(1);
  });

  it('may be slow, fast, tiny or huge', () => {
    expect(definePlan('gold', { capacity: 1, tokensPerSecond: 1e-8 })).toMatchObject({
      refill: 1e-8,
    });
    expect(definePlan('gold', { limit: 1e12, windowMs: 3_650 * 86_400_000 })).toMatchObject({
      quota: 1e12,
    });
  });
});

describe('a quota', () => {
  it.each(QUOTAS)('of −1 as %s is no limit', (_field, define) => {
    expect(defineAny(define(-1))).toMatchObject({ quota: -1 });
  });

  it.each(QUOTAS)('of 0 as %s denies all', (_field, define) => {
    expect(defineAny(define(0))).toMatchObject({ quota: 0 });
  });

  it('of −1 or 0 may be a rate in words', () => {
    expect(definePlan('gold', '-1/s')).toMatchObject({ quota: -1, refill: 1 });
    expect(definePlan('gold', '0/s')).toMatchObject({ quota: 0, refill: 1 });
  });

  it.each(
    cross(QUOTAS, [...NO_WHOLE_NUMBER, [1e12 + 1, '1000000000001']] as const).map(
      ([[field, define], [value, shown]]) => ({ field, define, value, shown }),
    ),
  )('$field: $shown is refused', ({ field, define, value, shown }) => {
    expect(messageOf(() => defineAny(define(value)))).toBe(
      `Plan "gold": ${field} must be a whole number from 1 to 1000000000000 ` +
        `(or −1 for no limit, 0 to deny all), got ${shown}.`,
    );
  });

  it.each(['-2/s', '1000000000001/s'] as const)('of the rate %j is refused', (rate) => {
    expect(messageOf(() => definePlan('gold', rate))).toBe(
      'Plan "gold": the number of tokens must be a whole number from 1 to 1000000000000 ' +
        `(or −1 for no limit, 0 to deny all), got ${rate.split('/')[0]}.`,
    );
  });
});

describe('a period', () => {
  it.each(
    cross(PERIODS, [
      ...NO_WHOLE_NUMBER,
      [0, '0'],
      [-1, '-1'],
      [3_650 * 86_400_000 + 1, '315360000001'],
    ] as const).map(([[field, define], [value, shown]]) => ({ field, define, value, shown })),
  )('$field: $shown is refused', ({ field, define, value, shown }) => {
    expect(messageOf(() => defineAny(define(value)))).toBe(
      `Plan "gold": ${field} must be a whole number of milliseconds from 1 to ten years ` +
        `(315360000000), got ${shown}.`,
    );
  });

  it('must be there for a window', () => {
    expect(messageOf(() => defineAny({ limit: 5 }))).toBe(
      'Plan "gold": windowMs must be a whole number of milliseconds from 1 to ten years ' +
        '(315360000000), got undefined.',
    );
  });

  it('of a rate is at most ten years', () => {
    expect(messageOf(() => definePlan('gold', '5/3651d'))).toBe(
      'Plan "gold": the period must be a whole number of milliseconds from 1 to ten years ' +
        '(315360000000), got 315446400000.',
    );
    expect(definePlan('gold', '5/3650d').windowMs).toBe(315_360_000_000);
  });
});

describe('a refill', () => {
  it.each([
    [0, '0'],
    [-1, '-1'],
    [-0.001, '-0.001'],
    [Number.NaN, 'NaN'],
    [Infinity, 'Infinity'],
    [-Infinity, '-Infinity'],
    ['10', '"10"'],
    [undefined, 'undefined'],
    [null, 'null'],
  ])('of %p is refused', (tokensPerSecond, shown) => {
    expect(messageOf(() => defineAny({ capacity: 5, tokensPerSecond }))).toBe(
      `Plan "gold": tokensPerSecond must be a number above 0, got ${shown}. ` +
        'To deny everything write capacity: 0.',
    );
  });

  it.each([-1, 0])('may be 0 or missing for a capacity of %d, but no nonsense', (capacity) => {
    expect(defineAny({ capacity, tokensPerSecond: 0 })).toMatchObject({ quota: capacity });
    expect(defineAny({ capacity })).toMatchObject({ quota: capacity });
    for (const [tokensPerSecond, shown] of [
      [Number.NaN, 'NaN'],
      [Infinity, 'Infinity'],
      [-1, '-1'],
      ['10', '"10"'],
    ]) {
      expect(messageOf(() => defineAny({ capacity, tokensPerSecond }))).toBe(
        `Plan "gold": tokensPerSecond must be a number above 0, got ${shown}. ` +
          'To deny everything write capacity: 0.',
      );
    }
  });

  it('that takes more than ten years is refused', () => {
    expect(messageOf(() => definePlan('gold', { capacity: 4, tokensPerSecond: 1e-8 }))).toBe(
      'Plan "gold": at 1e-8 tokens per second a bucket of 4 takes more than ten years to fill. ' +
        'Raise tokensPerSecond or lower capacity.',
    );
  });
});

describe('the fields of a plan', () => {
  it.each([
    [
      { capacity: 5, tokensPerSecond: 1, burst: 3 },
      'unknown field "burst". Known fields of a token-bucket plan: "capacity", "tokensPerSecond", "kind", "shadow", "onStoreFailure".',
    ],
    [
      { limit: 5, windowMs: 1, refill: 1 },
      'unknown field "refill". Known fields of a sliding-window plan: "limit", "windowMs", "kind", "shadow", "onStoreFailure".',
    ],
    [
      { maxConcurrent: 5, leaseSeconds: 1 },
      'unknown field "leaseSeconds". Known fields of a concurrency plan: "maxConcurrent", "leaseMs", "maxHoldMs", "kind", "shadow", "onStoreFailure".',
    ],
    [
      { capacity: 5, tokensPerSecond: 1, limit: 5, windowMs: 1 },
      'unknown field "limit". Known fields of a token-bucket plan: "capacity", "tokensPerSecond", "kind", "shadow", "onStoreFailure".',
    ],
    [
      { kind: 'leaky-bucket', capacity: 5, tokensPerSecond: 1 },
      'kind must be "token-bucket", which its fields make it, got "leaky-bucket".',
    ],
    [
      { kind: 'concurrency', limit: 5, windowMs: 1 },
      'kind must be "sliding-window", which its fields make it, got "concurrency".',
    ],
    [
      { kind: null, maxConcurrent: 5 },
      'kind must be "concurrency", which its fields make it, got null.',
    ],
    [
      { capacity: 5, tokensPerSecond: 1, shadow: 'yes' },
      'shadow must be true or false, got "yes".',
    ],
    [{ limit: 5, windowMs: 1, shadow: 1 }, 'shadow must be true or false, got 1.'],
  ])('%j: %s', (definition, problem) => {
    expect(messageOf(() => defineAny(definition))).toBe(`Plan "gold": ${problem}`);
  });

  it.each([
    [{}, '{}'],
    [{ kind: 'token-bucket' }, '{"kind":"token-bucket"}'],
    [{ tokensPerSecond: 5 }, '{"tokensPerSecond":5}'],
    [[], '[]'],
    [null, 'null'],
    [undefined, 'undefined'],
    [5, '5'],
    [true, 'true'],
    [() => '5/s', 'a function'],
  ])('%p make no plan', (definition, shown) => {
    expect(messageOf(() => defineAny(definition))).toBe(
      'Plan "gold": expected { capacity, tokensPerSecond }, { limit, windowMs }, ' +
        `{ maxConcurrent, leaseMs } or a rate such as "100/minute", got ${shown}.`,
    );
  });

  it.each(['', '5', 'gold', '5/0s', '5/fortnight', '1.5/s'])('%j is no rate', (rate) => {
    expect(messageOf(() => defineAny(rate))).toBe(
      'Plan "gold": expected a rate such as "100/minute", "5/10s" or "1000/day", ' +
        `got ${JSON.stringify(rate)}.`,
    );
  });

  it('are quoted on one line and cut when they are long', () => {
    const message = messageOf(() => defineAny({ note: `a\n${'b'.repeat(500)}` }));
    expect(message).toContain('got {"note":"a\\nbbb');
    expect(message).toMatch(/^.{1,300}\.\.\.\.$/);
  });

  it('are quoted even when they go round in circles', () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    expect(messageOf(() => defineAny(circle))).toContain('got [object Object].');
  });
});

describe('the name of a plan', () => {
  it.each(['gold', 'G', 'per-user_2', 'constructor', 'toString', 'hasOwnProperty', 'a'.repeat(64)])(
    'may be %s',
    (name) => {
      expect(definePlan(name, '5/s').name).toBe(name);
    },
  );

  it.each([
    '',
    ' ',
    '__proto__',
    '1st',
    '-gold',
    'a:b',
    'a b',
    'a.b',
    'a/b',
    'a{b}',
    'gold\n',
    'gold\0',
    'größe',
    '5/s',
    'a'.repeat(65),
  ])('may not be %j', (name) => {
    expect(messageOf(() => definePlan(name, '5/s'))).toBe(
      `Plan "${name}": a name starts with a letter and goes on with at most 63 letters, digits, ` +
        '"_" or "-".',
    );
  });
});

describe('a rate in the place of a name', () => {
  it('makes a plan that is named by itself, however it is spaced and spelled', () => {
    const plan = planFromRate('5/10s');
    expect(plan).toMatchObject({ name: '5/10s', quota: 5, windowMs: 10_000, periodUs: 10_000_000 });
    expect(planFromRate(' 5 / 10 S ')).toEqual(plan);
  });

  it('is told from a name', () => {
    expect(planFromRate('gold')).toBeUndefined();
    expect(planFromRate('')).toBeUndefined();
    expect(planFromRate('5/0s')).toBeUndefined();
  });

  it('is checked like any plan', () => {
    expect(messageOf(() => planFromRate('-5/s'))).toBe(
      'Plan "-5/s": the number of tokens must be a whole number from 1 to 1000000000000 ' +
        '(or −1 for no limit, 0 to deny all), got -5.',
    );
    expect(messageOf(() => planFromRate('5/999999999d'))).toContain(
      'Plan "5/999999999d": the period',
    );
  });
});
