import type { CanActivate, ModuleMetadata, Type } from '@nestjs/common';
import { checked } from '../core/check/check.js';
import { list, object } from '../core/check/containers.js';
import { optionError } from '../core/check/mistake.js';
import { flag, text, that, withDefault } from '../core/check/values.js';
import { quote, RateLimitError } from '../core/errors.js';

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

/** Segments of plain characters: what is matched is what is written, on every adapter. */
const PATH = /^\/?[\w.~-]+(?:\/[\w.~-]+)*\/?$/;
const MAX_TITLE_LENGTH = 100;
const TITLE = new RegExp(`^[^]{1,${MAX_TITLE_LENGTH}}$`);
/** Where a page that everybody can open does no harm. */
const OPEN_ENVIRONMENTS: readonly (string | undefined)[] = ['development', 'test'];

const dashboardOptions = object<CheckedDashboardOptions>(
  {
    path: withDefault(
      text('a path such as "admin/rate-limits", without parameters', PATH),
      'rate-limits',
    ),
    guards: withDefault(
      list(that('a guard, a class or an object', isGuard), {
        expected: 'a list of guards, classes or objects',
      }),
      [],
    ),
    imports: withDefault(list(that('a module', isModule), { expected: 'a list of modules' }), []),
    title: withDefault(
      text(`a string of 1 to ${MAX_TITLE_LENGTH} characters`, TITLE),
      'Rate limits',
    ),
    isProtectedElsewhere: withDefault(flag, false),
  },
  { field: 'option' },
);

/** Checks the options and fills in the defaults. */
export function checkDashboardOptions(options: DashboardOptions): CheckedDashboardOptions {
  const { path, ...rest } = checked(dashboardOptions, options, optionError, ['dashboard']);
  return { ...rest, path: path.replaceAll(/^\/|\/$/g, '') };
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

function isGuard(value: unknown): value is DashboardGuard {
  if (typeof value === 'function') return true;
  return isModule(value) && 'canActivate' in value;
}

function isModule(value: unknown): value is DashboardImport {
  return typeof value === 'function' || (typeof value === 'object' && value !== null);
}
