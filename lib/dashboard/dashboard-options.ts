import type { CanActivate, ModuleMetadata, Type } from '@nestjs/common';
import { InvalidOptionError, listKnown, quote, RateLimitError } from '../core/errors.js';

/** A guard as `@UseGuards` takes it: a class, whose dependencies are injected, or an object. */
export type DashboardGuard = CanActivate | Type<CanActivate>;

/** A module that guards of the dashboard take their dependencies from. */
export type DashboardImport = NonNullable<ModuleMetadata['imports']>[number];

/** Options of `RateLimitDashboardModule.forRoot()`. */
export interface DashboardOptions {
  /**
   * Where the page is, below the global prefix of the application.
   * @default 'rate-limits'
   */
  readonly path?: string;
  /**
   * Who may see the page. Required outside development, unless `isProtectedElsewhere`.
   * @default []
   */
  readonly guards?: readonly DashboardGuard[];
  /**
   * Modules whose exports the guards inject; global ones need not be named.
   * @default []
   */
  readonly imports?: readonly DashboardImport[];
  /**
   * What the page is called, for those who watch several.
   * @default 'Rate limits'
   */
  readonly title?: string;
  /**
   * Says that something else keeps strangers out: a global guard, a proxy, a network.
   * @default false
   */
  readonly isProtectedElsewhere?: boolean;
}

/** Options with every default filled in. */
export type CheckedDashboardOptions = Required<DashboardOptions>;

type Check = readonly [accepts: (value: unknown) => boolean, expected: string];

/** Segments of plain characters: what is matched is what is written, on every adapter. */
const PATH = /^\/?[\w.~-]+(?:\/[\w.~-]+)*\/?$/;
const MAX_TITLE_LENGTH = 100;
/** Where a page that everybody can open does no harm. */
const OPEN_ENVIRONMENTS: readonly (string | undefined)[] = ['development', 'test'];

const CHECKS: { readonly [Name in keyof DashboardOptions]-?: Check } = {
  path: [
    (value) => typeof value === 'string' && PATH.test(value),
    'a path such as "admin/rate-limits", without parameters',
  ],
  guards: [(value) => isListOf(value, isGuard), 'a list of guards, classes or objects'],
  imports: [(value) => isListOf(value, isObject), 'a list of modules'],
  title: [
    (value) => typeof value === 'string' && value !== '' && value.length <= MAX_TITLE_LENGTH,
    `a string of 1 to ${MAX_TITLE_LENGTH} characters`,
  ],
  isProtectedElsewhere: [(value) => typeof value === 'boolean', 'true or false'],
};

/** Checks the options and fills in the defaults. */
export function checkDashboardOptions(options: DashboardOptions): CheckedDashboardOptions {
  if (!isObject(options) || Array.isArray(options)) {
    throw new InvalidOptionError('forRoot()', 'given an object', options);
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  for (const [name, value] of given) checkOption(name, value);
  const { path = 'rate-limits', ...rest } = Object.fromEntries(given) as DashboardOptions;
  return {
    ...{ guards: [], imports: [], title: 'Rate limits', isProtectedElsewhere: false },
    ...rest,
    path: path.replaceAll(/^\/|\/$/g, ''),
  };
}

/** Refuses to show everybody who calls whom, and how to stay below a limit. */
export function checkProtection(
  { guards, isProtectedElsewhere, path }: CheckedDashboardOptions,
  environment: string | undefined,
): void {
  if (guards.length > 0 || isProtectedElsewhere) return;
  if (OPEN_ENVIRONMENTS.includes(environment)) return;
  throw new RateLimitError(
    'DASHBOARD_UNPROTECTED',
    `The dashboard at "${path}" would be open to everybody, for NODE_ENV is ${quote(environment)} ` +
      'and it has no guards. Write RateLimitDashboardModule.forRoot({ guards: [AdminGuard] }) with ' +
      'a guard of yours, or isProtectedElsewhere: true where something else keeps strangers out. ' +
      'On your own machine, set NODE_ENV=development.',
  );
}

function checkOption(name: string, value: unknown): void {
  if (!Object.hasOwn(CHECKS, name)) {
    throw new RateLimitError(
      'INVALID_OPTION',
      `Unknown option "${name}" of the dashboard. ${listKnown('options', Object.keys(CHECKS))}`,
    );
  }
  const [accepts, expected] = CHECKS[name as keyof DashboardOptions];
  if (!accepts(value)) throw new InvalidOptionError(`dashboard.${name}`, expected, value);
}

function isListOf(value: unknown, accepts: (one: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(accepts);
}

function isGuard(value: unknown): boolean {
  if (typeof value === 'function') return true;
  return isObject(value) && 'canActivate' in (value as object);
}

function isObject(value: unknown): boolean {
  return typeof value === 'function' || (typeof value === 'object' && value !== null);
}
