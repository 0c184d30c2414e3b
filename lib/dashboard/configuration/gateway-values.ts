import { UNLIMITED } from '../../core/plan.js';
import type { LevelExplanation } from '../../gateway/limits/explain-levels.js';
import { LIMIT_FIELDS } from '../../gateway/config/gateway-config.js';
import type { GatewayLimiter } from '../../gateway/gateway-limiter.js';
import type { GatewayOptions } from '../../gateway/config/gateway-options.js';
import type { ConfiguredValue, ValueSource } from './configured-value.js';
import { firstOf } from './configured-value.js';

/** Tells where the limits of a level came from, by its name. */
type SourceOf = (name: string) => ValueSource;

/** What each level limits, and what clients of a route inherit from a level above. */
export function gatewayValues(
  given: GatewayOptions | undefined,
  gateway: GatewayLimiter,
): ConfiguredValue[] {
  if (given === undefined) return [];
  const levels = gateway.explainLevels();
  const updated = new Set(levels.filter(({ isUpdated }) => isUpdated).map(nameOf));
  const written: ValueSource = 'file' in given ? 'file' : 'option';
  const sourceOf: SourceOf = (name) => (updated.has(name) ? 'update' : written);
  return firstOf('gateway', levels, (level) => [
    ...ownValues(level, sourceOf),
    ...(level.level === 'route' ? inheritedValues(level.id, gateway, sourceOf) : []),
  ]);
}

function ownValues(level: LevelExplanation, sourceOf: SourceOf): ConfiguredValue[] {
  const name = nameOf(level);
  const limited = LIMIT_FIELDS.filter((field) => level.limits[field] !== UNLIMITED);
  return limited.map((field) => ({
    part: 'gateway',
    name: `${name} ${field}`,
    value: String(level.limits[field]),
    source: sourceOf(name),
  }));
}

function inheritedValues(
  routeId: string,
  gateway: GatewayLimiter,
  sourceOf: SourceOf,
): ConfiguredValue[] {
  const { values, backend } = gateway.explain(routeId);
  return values
    .filter(({ level, source }) => level === 'client' && ['backend', 'server'].includes(source))
    .map(({ limit, value, source }) => ({
      part: 'gateway',
      name: `route ${routeId} ${limit}`,
      value: `${value}, from the ${source}`,
      source: sourceOf(source === 'server' ? 'server' : `backend ${backend}`),
    }));
}

function nameOf({ level, id }: LevelExplanation): string {
  return id === '' ? level : `${level} ${id}`;
}
