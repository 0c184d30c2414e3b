import { UnexpectedValue } from '../../core/check/mistake.js';
import type { Path } from '../../core/check/path.js';
import type { GatewayOverrides } from './gateway-overrides.js';
import { differenceOf, own, withServer } from './gateway-overrides.js';
import type { CompleteLimits, LevelLimits } from '../config/gateway-config.js';
import { completeLimits, configError, NO_LIMITS } from '../config/gateway-config.js';
import type { GatewayUpdate } from './gateway-settings.js';
import type { GatewayEpochs } from '../limits/gateway-state.js';
import { unknownName } from '../limits/unknown-name.js';

/** Sets the limits of the whole server; null for no limits. */
export function serverUpdate(limits: LevelLimits | null): GatewayUpdate {
  const after = completed(limits, ['server']);
  return ({ config, overrides }) => {
    const before = overrides.server ?? config.server;
    if (differenceOf(before, after).length === 0) return undefined;
    return withServer(overrides, { before, after, isUpdate: true });
  };
}

/** Sets the limits of a backend; null for no limits. */
export function backendUpdate(name: string, limits: LevelLimits | null): GatewayUpdate {
  const after = completed(limits, ['backends', name]);
  return ({ config, overrides }) => {
    const configured = config.backends.get(name);
    if (!configured) throw unknownName('backend', name, config.backends.keys());
    const before = own(overrides.backends, name) ?? configured;
    if (differenceOf(before, after).length === 0) return undefined;
    return { ...overrides, backends: { ...overrides.backends, [name]: after } };
  };
}

/** Sets the limits of a route; null for no limits. */
export function routeUpdate(routeId: string, limits: LevelLimits | null): GatewayUpdate {
  const after = completed(limits, ['routes', routeId]);
  return ({ config, overrides }) => {
    const configured = config.routes.find(({ id }) => id === routeId);
    const ids = config.routes.map(({ id }) => id);
    if (!configured) throw unknownName('route', routeId, ids);
    const before = own(overrides.routes, routeId) ?? configured.limits;
    if (differenceOf(before, after).length === 0) return undefined;
    return { ...overrides, routes: { ...overrides.routes, [routeId]: after } };
  };
}

/** Goes back to the configuration. */
export function noUpdates(): GatewayUpdate {
  return ({ config, overrides }) => {
    const { server, backends, routes } = overrides;
    const changed = [server, ...Object.keys(backends), ...Object.keys(routes)];
    if (changed.every((one) => one === undefined)) return undefined;
    const change = { before: server ?? config.server, after: config.server, isUpdate: false };
    return { ...withServer(overrides, change), backends: {}, routes: {} };
  };
}

/** Counts the requests of a level from zero. */
export function fromZero(level: keyof GatewayEpochs): GatewayUpdate {
  return ({ overrides }) => nextEpoch(overrides, level);
}

/** Refuses undefined: a forgotten argument must not remove all limits. */
function completed(limits: LevelLimits | null, path: Path): CompleteLimits {
  if (limits !== undefined) return completeLimits(limits ?? NO_LIMITS, path);
  const expected = 'an object, or null for no limits';
  throw configError(new UnexpectedValue(path, expected, limits));
}

function nextEpoch(overrides: GatewayOverrides, level: keyof GatewayEpochs): GatewayOverrides {
  const { epochs } = overrides;
  return { ...overrides, epochs: { ...epochs, [level]: epochs[level] + 1 } };
}
