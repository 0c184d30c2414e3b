import type { CheckedGateway, CheckedRoute } from './check-gateway-config.js';
import type { CompleteLimits, LevelLimits } from './gateway-config.js';
import {
  completeLimits,
  InvalidGatewayConfigError,
  LIMIT_FIELDS,
  NO_LIMITS,
} from './gateway-config.js';
import type { GatewayEpochs } from './gateway-state.js';

/** What was changed while running, on top of the configuration; shared by all processes. */
export interface GatewayOverrides {
  readonly server?: CompleteLimits;
  readonly backends: Readonly<Record<string, CompleteLimits>>;
  readonly routes: Readonly<Record<string, CompleteLimits>>;
  readonly epochs: GatewayEpochs;
}

export const NO_OVERRIDES: GatewayOverrides = Object.freeze({
  backends: {},
  routes: {},
  epochs: { server: 0, routes: 0, clients: 0 },
});

/** The configuration with what was changed while running. */
export function withOverrides(
  config: CheckedGateway,
  { server, backends, routes }: GatewayOverrides,
): CheckedGateway {
  return {
    ...config,
    server: server ?? config.server,
    backends: new Map(
      [...config.backends].map(([name, limits]) => [name, own(backends, name) ?? limits]),
    ),
    routes: config.routes.map((route): CheckedRoute => {
      const limits = own(routes, route.id);
      return limits ? { ...route, limits } : route;
    }),
  };
}

/** Reads overrides that another process wrote; what is not of that form counts as none. */
export function parseOverrides(text: string): GatewayOverrides {
  if (text === '') return NO_OVERRIDES;
  try {
    const { server, backends, routes, epochs } = JSON.parse(text) as GatewayOverrides;
    return {
      ...(server ? { server: completeLimits('server', server) } : {}),
      backends: checkedRecord(backends),
      routes: checkedRecord(routes),
      epochs: {
        server: wholeOr0(epochs?.server),
        routes: wholeOr0(epochs?.routes),
        clients: wholeOr0(epochs?.clients),
      },
    };
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return NO_OVERRIDES;
    if (error instanceof InvalidGatewayConfigError) return NO_OVERRIDES;
    throw error;
  }
}

/** What was changed running of levels that the configuration has changed since is no longer meant. */
export function withoutChanged(
  overrides: GatewayOverrides,
  before: CheckedGateway,
  after: CheckedGateway,
): GatewayOverrides {
  const [routesBefore, routesAfter] = [routesById(before), routesById(after)];
  const { server, ...rest } = overrides;
  const keepsServer = server !== undefined && !differ(before.server, after.server);
  return {
    ...(keepsServer ? { server } : {}),
    ...rest,
    backends: keep(
      overrides.backends,
      (name) => !differ(before.backends.get(name), after.backends.get(name)),
    ),
    routes: keep(overrides.routes, (id) => !differ(routesBefore.get(id), routesAfter.get(id))),
  };
}

/** A level whose limits are others than before. */
export interface LevelChange {
  readonly level: 'server' | 'backend' | 'route';
  /** The name of the backend or the id of the route; '' for the server. */
  readonly id: string;
  readonly before: CompleteLimits;
  readonly after: CompleteLimits;
}

/** The levels whose limits differ. */
export function changesBetween(before: CheckedGateway, after: CheckedGateway): LevelChange[] {
  const routes = routesById(before);
  const levels: LevelChange[] = [
    { level: 'server', id: '', before: before.server, after: after.server },
  ];
  for (const [id, limits] of after.backends) {
    levels.push({
      level: 'backend',
      id,
      before: before.backends.get(id) ?? NO_LIMITS,
      after: limits,
    });
  }
  for (const { id, limits } of after.routes) {
    levels.push({ level: 'route', id, before: routes.get(id) ?? NO_LIMITS, after: limits });
  }
  return levels.filter((level) => differ(level.before, level.after));
}

/** What differs between the limits of a level, as `maxQps 10 → 20`; empty when nothing does. */
export function differenceOf(before: CompleteLimits, after: CompleteLimits): string[] {
  return LIMIT_FIELDS.filter((field) => before[field] !== after[field]).map(
    (field) => `${field} ${before[field]} → ${after[field]}`,
  );
}

function differ(one: CompleteLimits = NO_LIMITS, other: CompleteLimits = NO_LIMITS): boolean {
  return differenceOf(one, other).length > 0;
}

function routesById({ routes }: CheckedGateway): Map<string, CompleteLimits> {
  return new Map(routes.map(({ id, limits }) => [id, limits]));
}

function keep<T>(record: Readonly<Record<string, T>>, wanted: (key: string) => boolean) {
  return Object.fromEntries(Object.entries(record).filter(([key]) => wanted(key)));
}

function checkedRecord(record: Readonly<Record<string, LevelLimits>>) {
  const entries = Object.entries(record);
  return Object.fromEntries(entries.map(([key, limits]) => [key, completeLimits(key, limits)]));
}

/** What a record has under a name, whatever objects inherit under it. */
export function own<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function wholeOr0(value: unknown): number {
  return Number.isSafeInteger(value) ? (value as number) : 0;
}
