import type { CheckedGateway, CheckedRoute } from './check-gateway-config.js';
import type { CompleteLimits, LevelLimits } from './gateway-config.js';
import { completeLimits, InvalidGatewayConfigError, LIMIT_FIELDS } from './gateway-config.js';
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

/** What differs between the limits of a level, as `maxQps 10 → 20`; empty when nothing does. */
export function differenceOf(before: CompleteLimits, after: CompleteLimits): string[] {
  return LIMIT_FIELDS.filter((field) => before[field] !== after[field]).map(
    (field) => `${field} ${before[field]} → ${after[field]}`,
  );
}

function checkedRecord(record: Readonly<Record<string, LevelLimits>>) {
  const entries = Object.entries(record);
  return Object.fromEntries(entries.map(([key, limits]) => [key, completeLimits(key, limits)]));
}

function own<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function wholeOr0(value: unknown): number {
  return Number.isSafeInteger(value) ? (value as number) : 0;
}
