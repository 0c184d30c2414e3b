import { describe, expect, it } from '@jest/globals';
import { definePlan } from '../../lib/core/define-plan.js';
import { planFromEnv } from '../../lib/core/plan-from-env.js';

describe('the plan from the environment', () => {
  it.each([
    [{}, { capacity: 5, tokensPerSecond: 3 }],
    [{ APP_RATE_LIMIT: '10' }, { capacity: 5, tokensPerSecond: 10 }],
    [{ APP_RATE_BURST: '20' }, { capacity: 20, tokensPerSecond: 3 }],
    [
      { APP_RATE_LIMIT: '0.5', APP_RATE_BURST: '1' },
      { capacity: 1, tokensPerSecond: 0.5 },
    ],
    [
      { APP_RATE_LIMIT: ' 10 ', APP_RATE_BURST: '\t20\n' },
      { capacity: 20, tokensPerSecond: 10 },
    ],
    [
      { APP_RATE_LIMIT: '', APP_RATE_BURST: '  ' },
      { capacity: 5, tokensPerSecond: 3 },
    ],
    [
      { APP_RATE_LIMIT: undefined, APP_RATE_BURST: undefined },
      { capacity: 5, tokensPerSecond: 3 },
    ],
  ])('%j is %j', (env, definition) => {
    expect(planFromEnv(env)).toEqual(definition);
  });

  it.each([
    ['-1', -1],
    ['0', 0],
  ])('of a rate of %s has the quota %d, whatever the burst', (rate, quota) => {
    const env = { APP_RATE_LIMIT: rate, APP_RATE_BURST: '7' };
    expect(definePlan('default', planFromEnv(env)).quota).toBe(quota);
  });

  it.each(
    ['APP_RATE_LIMIT', 'APP_RATE_BURST'].flatMap((name) =>
      ['abc', '1e3', '0x10', 'Infinity', 'NaN', '5/s', '1,5', '.5', '5.', '+5', '--5', '5 5'].map(
        (value) => ({ name, value }),
      ),
    ),
  )('refuses $name=$value', ({ name, value }) => {
    expect(() => planFromEnv({ [name]: value })).toThrow(
      `Plan "default": ${name} must be a number, got ${JSON.stringify(value)}.`,
    );
  });

  it.each([
    [{ APP_RATE_LIMIT: '-5' }, 'tokensPerSecond must be a number above 0, got -5.'],
    [{ APP_RATE_BURST: '2.5' }, 'capacity must be a whole number'],
    [{ APP_RATE_BURST: '-3' }, 'capacity must be a whole number'],
  ])('is refused as a plan when it is %j', (env, problem) => {
    expect(() => definePlan('default', planFromEnv(env))).toThrow(problem);
  });

  it('reads the environment of the process unless it is given one', () => {
    const { APP_RATE_LIMIT } = process.env;
    try {
      process.env.APP_RATE_LIMIT = '42';
      expect(planFromEnv()).toMatchObject({ tokensPerSecond: 42 });
    } finally {
      if (APP_RATE_LIMIT === undefined) delete process.env.APP_RATE_LIMIT;
      else process.env.APP_RATE_LIMIT = APP_RATE_LIMIT;
    }
  });
});
