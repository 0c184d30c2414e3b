import type { CheckedGateway, CheckedRoute } from '../config/check-gateway-config.js';
import type { CompleteLimits, LevelLimits } from '../config/gateway-config.js';
import { completeLimits, LIMIT_FIELDS, NO_LIMITS } from '../config/gateway-config.js';
import type { GatewayEpochs } from '../limits/gateway-state.js';

/** Limits that were updated while running. They replace those of the configuration, in all processes. */
export interface GatewayOverrides {
  readonly server?: CompleteLimits;
  readonly backends: Readonly<Record<string, CompleteLimits>>;
  readonly routes: Readonly<Record<string, CompleteLimits>>;
  readonly epochs: GatewayEpochs;
  /**
   * The `maxQps` with which the current epoch of the server began. Every process reads the same file:
   * the first one begins an epoch, and the others see that it has begun.
   */
  readonly serverQps?: number;
}

export const NO_OVERRIDES: GatewayOverrides = Object.freeze({
  backends: {},
  routes: {},
  epochs: { server: 0, routes: 0, clients: 0 },
});

/** The configuration with the overrides applied. */
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

/** Reads overrides that another process wrote. Throws if they are not of that form. */
export function parseOverrides(text: string): GatewayOverrides {
  const { server, backends, routes, epochs, serverQps } = JSON.parse(text) as GatewayOverrides;
  return {
    ...(server ? { server: completeLimits(server, ['server']) } : {}),
    backends: checkedRecord(backends),
    routes: checkedRecord(routes),
    epochs: {
      server: wholeOr0(epochs?.server),
      routes: wholeOr0(epochs?.routes),
      clients: wholeOr0(epochs?.clients),
    },
    ...(Number.isSafeInteger(serverQps) ? { serverQps: serverQps! } : {}),
  };
}

/** A change of the limits of the server. */
export interface ServerChange {
  readonly before: CompleteLimits;
  readonly after: CompleteLimits;
  /** Whether an update sets them; if not, the configuration does. */
  readonly isUpdate: boolean;
}

/**
 * Sets the limits of the server, or goes back to those of the configuration. If `maxQps` differs from
 * before, requests are counted from zero; open connections stay counted.
 */
export function withServer(
  { server: _, serverQps, ...rest }: GatewayOverrides,
  { before, after, isUpdate }: ServerChange,
): GatewayOverrides {
  const isOther = after.maxQps !== before.maxQps;
  const begins = isOther && (isUpdate || after.maxQps !== serverQps);
  const { epochs } = rest;
  const qps = begins ? after.maxQps : serverQps;
  return {
    ...(isUpdate ? { server: after } : {}),
    ...rest,
    epochs: begins ? { ...epochs, server: epochs.server + 1 } : epochs,
    ...(qps === undefined ? {} : { serverQps: qps }),
  };
}

/** Drops the overrides of levels that the configuration changes: the newer word counts. */
export function withoutChanged(
  overrides: GatewayOverrides,
  before: CheckedGateway,
  after: CheckedGateway,
): GatewayOverrides {
  const [routesBefore, routesAfter] = [routesById(before), routesById(after)];
  return {
    ...withConfiguredServer(overrides, before, after),
    backends: keep(
      overrides.backends,
      (name) => !differ(before.backends.get(name), after.backends.get(name)),
    ),
    routes: keep(overrides.routes, (id) => !differ(routesBefore.get(id), routesAfter.get(id))),
  };
}

function withConfiguredServer(
  overrides: GatewayOverrides,
  before: CheckedGateway,
  after: CheckedGateway,
): GatewayOverrides {
  if (!differ(before.server, after.server)) return overrides;
  const change = { before: overrides.server ?? before.server, after: after.server };
  return withServer(overrides, { ...change, isUpdate: false });
}

/** A level whose limits have changed. */
export interface LevelChange {
  readonly level: 'server' | 'backend' | 'route';
  /** The name of the backend or the id of the route; '' for the server. */
  readonly id: string;
  readonly before: CompleteLimits;
  readonly after: CompleteLimits;
}

/** The levels whose limits differ between two configurations. */
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

/** What differs between the limits of a level, such as `maxQps 10 → 20`; empty if nothing does. */
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
  return Object.fromEntries(entries.map(([key, limits]) => [key, completeLimits(limits, [key])]));
}

/** The own property of a record: names such as `constructor` must not find what objects inherit. */
export function own<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function wholeOr0(value: unknown): number {
  return Number.isSafeInteger(value) ? (value as number) : 0;
}
