import { describe, expect, it } from '@jest/globals';
import type { DashboardOptions } from '../../lib/dashboard/index.js';
import { checkDashboardOptions, checkProtection } from '../../lib/dashboard/dashboard-options.js';

const guard = { canActivate: () => true };

describe('options of the dashboard', () => {
  it('have defaults', () => {
    expect(checkDashboardOptions({})).toEqual({
      path: 'rate-limits',
      guards: [],
      imports: [],
      title: 'Rate limits',
      isProtectedElsewhere: false,
    });
  });

  it('take a path with or without slashes around it', () => {
    for (const path of ['admin/limits', '/admin/limits', 'admin/limits/']) {
      expect(checkDashboardOptions({ path }).path).toBe('admin/limits');
    }
  });

  it('are refused when they cannot work, with what to write', () => {
    const mistakes: [object, RegExp][] = [
      [{ path: ':id' }, /dashboard\.path` to be a path such as/],
      [{ path: '' }, /dashboard\.path/],
      [{ path: 'a b' }, /dashboard\.path/],
      [{ guards: guard }, /dashboard\.guards` to be a list of guards/],
      [{ guards: ['admin'] }, /dashboard\.guards/],
      [{ imports: [null] }, /dashboard\.imports/],
      [{ title: '' }, /dashboard\.title/],
      [{ isProtectedElsewhere: 'yes' }, /dashboard\.isProtectedElsewhere` to be true or false/],
      [
        { guard },
        /dashboard: unknown option "guard"\. Did you mean "guards"\? Known options: "path", "guards"/,
      ],
    ];
    for (const [options, message] of mistakes) {
      expect(() => checkDashboardOptions(options)).toThrow(message);
    }
  });
});

describe('a dashboard without guards', () => {
  const check = (environment: string | undefined, options: DashboardOptions = {}) => {
    checkProtection(checkDashboardOptions(options), environment);
  };

  it('is open in development and in tests', () => {
    expect(() => check('development')).not.toThrow();
    expect(() => check('test')).not.toThrow();
  });

  it('does not boot anywhere else, and says what to write', () => {
    for (const environment of ['production', 'staging', 'Development', '', undefined]) {
      expect(() => check(environment)).toThrow(
        expect.objectContaining({
          code: 'DASHBOARD_UNPROTECTED',
          message: expect.stringMatching(/forRoot\(\{ guards: \[AdminGuard\] \}\)/),
        }),
      );
    }
  });

  it('boots with a guard, or when something else keeps strangers out', () => {
    expect(() => check('production', { guards: [guard] })).not.toThrow();
    expect(() => check('production', { isProtectedElsewhere: true })).not.toThrow();
    expect(() => check('production', { guards: [] })).toThrow(/open to everybody/);
  });
});
