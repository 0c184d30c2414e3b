import { definePlan } from '../core/define-plan.js';
import type { Limit } from '../core/limit-store.js';
import type { Plan } from '../core/plan.js';
import { DENY_ALL, UNLIMITED } from '../core/plan.js';
import type { ClientLimits, LimitSource } from './cascade.js';

/** The levels, in the order in which they are asked and told. */
export const LEVELS = ['server', 'route', 'backend', 'client'] as const;

/** Where a limit stands. */
export type Level = (typeof LEVELS)[number];

/** What is limited. */
export type Resource = 'qps' | 'connections';

/** One limit of a route: at which level, of what, and how its counter is called. */
export interface LevelLimit {
  readonly level: Level;
  readonly resource: Resource;
  readonly plan: Plan;
  /** The counter's key; that of a client begins with it. */
  readonly key: string;
}

/** Plans that are kept made; equal limits share one, so that their chains travel together. */
const MAX_PLANS = 1_000;
const plans = new Map<string, Plan>();

/** The limit of a level; undefined where there is none. */
export function levelLimit(
  level: Level,
  resource: Resource,
  value: number,
  key: string,
): LevelLimit | undefined {
  if (value === UNLIMITED) return undefined;
  return { level, resource, plan: planOf(resource, value), key };
}

/** The limits of clients: counted within the level that they came from. */
export function clientLimits(
  { maxQps, maxConnections }: ClientLimits,
  scopeOf: (source: LimitSource) => string,
): LevelLimit[] {
  const limits = [
    levelLimit('client', 'qps', maxQps.value, scopeOf(maxQps.source)),
    levelLimit('client', 'connections', maxConnections.value, scopeOf(maxConnections.source)),
  ];
  return limits.filter((limit) => limit !== undefined);
}

/** The limit as the store counts it. */
export function limitOf({ level, plan, key }: LevelLimit, clientIp: string): Limit {
  return { plan, key: level === 'client' ? `${key}${clientIp}` : key, cost: 1 };
}

/** Whether a limit refuses everybody, so that nobody needs to be asked. */
export function refusesAll({ plan }: LevelLimit): boolean {
  return plan.quota === DENY_ALL;
}

/** Named so that no plan of a user can be meant. */
function planOf(resource: Resource, value: number): Plan {
  const id = `${resource} ${value}`;
  let plan = plans.get(id);
  if (plan) return plan;
  const definition =
    resource === 'qps' ? { limit: value, windowMs: 1_000 } : { maxConcurrent: value };
  plan = { ...definePlan('gateway', definition), name: `_gateway_${resource}` };
  if (plans.size >= MAX_PLANS) plans.clear();
  plans.set(id, plan);
  return plan;
}
