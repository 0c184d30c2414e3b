import { describe, expect, it } from '@jest/globals';
import { definePlans } from '../../lib/core/define-plans.js';
import { InvalidPlanError } from '../../lib/core/errors.js';
import type { Rate } from '../../lib/core/rate.js';

describe('plans that are defined together', () => {
  it('come back as they are', () => {
    const plans = { gold: { capacity: 100, tokensPerSecond: 10 }, login: '5/minute' } as const;
    expect(definePlans(plans)).toBe(plans);
  });

  it('are checked where they are written', () => {
    const perMinute = 1.5;
    expect(() => definePlans({ login: `${perMinute}/minute` as Rate })).toThrow(InvalidPlanError);
    expect(() => definePlans({ 'no name': '5/minute' })).toThrow(
      'Plan "no name": a name starts with a letter',
    );
  });
});
