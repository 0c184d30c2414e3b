import { definePlan, MAX_QUOTA } from '../../core/define-plan.js';
import type { Limit, LimitLabel } from '../../core/limit-store.js';
import type { Plan } from '../../core/plan.js';
import { DENY_ALL, UNLIMITED } from '../../core/plan.js';

/** The levels, in the order in which they are checked and reported. */
export const LEVELS = ['server', 'route', 'backend', 'client'] as const;

/** The level of a limit. */
export type Level = (typeof LEVELS)[number];

/** What is limited. */
export type Resource = 'qps' | 'connections';

/** A resource at a level. */
export interface LevelResource {
  /** The level of the limit. */
  readonly level: Level;
  /** What is limited there. */
  readonly resource: Resource;
}

/** One limit of a route. */
export interface LevelLimit extends LevelResource {
  /** The limit for the store. At the level of clients the key is a prefix of theirs. */
  readonly limit: Limit;
}

/** How much a level allows, and the key that it is counted under. */
export interface LevelQuota {
  readonly value: number;
  readonly key: string;
  /** The name of the backend or the id of the route; '' where there is only one. */
  readonly id: string;
  /** How long the connections of a process that died stay counted, in milliseconds. */
  readonly leaseMs: number;
}

/** Plans that are cached. Equal limits share a plan, so that their chains are sent together. */
const MAX_PLANS = 1_000;
const plans = new Map<string, Plan>();
const labels = new Map<string, LimitLabel>();

/** Makes the limit of a level; undefined if there is none. */
export function levelLimit(what: LevelResource, quota: LevelQuota): LevelLimit | undefined {
  if (quota.value === UNLIMITED) return undefined;
  const { level, resource } = what;
  const plan = planOf(what, quota);
  const seenAs = labelOf(what, quota.id);
  return { level, resource, limit: { plan, key: quota.key, cost: 1, seenAs } };
}

/** The limit with the key of a client. */
export function limitFor({ level, limit }: LevelLimit, clientIp: string): Limit {
  // Limits of the other levels are the same for all clients, so they are made once.
  return level === 'client' ? { ...limit, key: limit.key + clientIp } : limit;
}

/** Whether a limit refuses every request, so that the store need not be asked. */
export function refusesAll({ limit }: LevelLimit): boolean {
  return limit.plan.quota === DENY_ALL;
}

/**
 * The same counter under a limit that is never reached. It counts connections that are open already,
 * and shows how much is used when that is more than the limit.
 */
export function uncapped({ level, resource, limit }: LevelLimit): LevelLimit {
  const leaseMs = limit.plan.kind === 'concurrency' ? limit.plan.leaseUs / 1_000 : 0;
  const plan = planOf({ level, resource }, { value: MAX_QUOTA, leaseMs });
  return { level, resource, limit: { ...limit, plan } };
}

/** Names that no plan of a user can have. */
function planOf(
  { level, resource }: LevelResource,
  { value, leaseMs }: Omit<LevelQuota, 'key' | 'id'>,
): Plan {
  const id = `${level} ${resource} ${value} ${leaseMs}`;
  let plan = plans.get(id);
  if (plan) return plan;
  const definition =
    resource === 'qps' ? { limit: value, windowMs: 1_000 } : { maxConcurrent: value, leaseMs };
  plan = Object.freeze({
    ...definePlan('gateway', definition),
    name: `_gateway_${resource}`,
    label: `${level}-${resource}`,
  });
  if (plans.size >= MAX_PLANS) plans.clear();
  plans.set(id, plan);
  return plan;
}

/** Labels name levels, routes and backends, never clients. Equal labels are one object. */
function labelOf({ level, resource }: LevelResource, id: string): LimitLabel {
  const name = id === '' ? `${level}-${resource}` : `${level}-${resource}:${id}`;
  let label = labels.get(name);
  if (label) return label;
  label = Object.freeze({ name, side: 'gateway', isOfCaller: level === 'client' });
  if (labels.size >= MAX_PLANS) labels.clear();
  labels.set(name, label);
  return label;
}
