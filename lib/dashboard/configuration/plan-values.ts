import type { InMemoryPlanRegistry } from '../../core/in-memory-plan-registry.js';
import type { PlanDefinition } from '../../core/plan.js';
import type { RateLimitOptions } from '../../nest/rate-limit-options.js';
import type { SharedPlans } from '../../shared/plans/shared-plans.js';
import type { PolicyStats } from '../../observe/stats-snapshot.js';
import type { ConfiguredValue, ValueSource } from './configured-value.js';
import { asText, fieldsAsText, firstOf } from './configured-value.js';

const PLAN_VARIABLES = ['APP_RATE_LIMIT', 'APP_RATE_BURST'];

/** What is known about plans. */
export interface PlanFacts {
  readonly given: RateLimitOptions;
  readonly written: InMemoryPlanRegistry;
  /** Those that were changed while running, in all processes. */
  readonly shared: SharedPlans;
  /** Those that are declared or were used, wherever they came from. */
  readonly used: readonly PolicyStats[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The plans that are written down, then those that decorators name or that came while running. */
export function planValues(facts: PlanFacts): ConfiguredValue[] {
  const { used, given } = facts;
  const names = namesOf(facts);
  const known = new Set(names);
  const source: ValueSource = given.registry ? 'registry' : 'code';
  const others = used.filter(({ policy }) => !known.has(policy));
  return [
    ...firstOf('plans', names, (name) => [writtenPlan(name, facts)]),
    ...firstOf('plans', others, (stats) => [
      { part: 'plans', name: stats.policy, value: quotaOf(stats), source: sourceOf(stats, source) },
    ]),
  ];
}

function namesOf({ written, shared }: PlanFacts): string[] {
  const names = new Set([...written.names(), ...shared.entries().keys()]);
  return [...names].filter((name) => shared.find(name) !== null);
}

function writtenPlan(name: string, facts: PlanFacts): ConfiguredValue {
  const definition = facts.shared.find(name) ?? facts.written.find(name)!;
  const value = typeof definition === 'string' ? definition : fieldsAsText(definition);
  return { part: 'plans', name, value: asText(value), source: whereFrom(name, definition, facts) };
}

function whereFrom(name: string, now: PlanDefinition, facts: PlanFacts): ValueSource {
  const { given, env, shared } = facts;
  if (shared.find(name)) return 'update';
  const first = given.plans && Object.hasOwn(given.plans, name) ? given.plans[name] : undefined;
  if (first !== undefined) return same(first, now) ? 'option' : 'update';
  if (name !== 'default') return 'update';
  return PLAN_VARIABLES.some((variable) => env[variable]?.trim()) ? 'env' : 'default';
}

/** A plan that is named as a rate is one: no registry was asked for it. */
function sourceOf({ policy }: PolicyStats, otherwise: ValueSource): ValueSource {
  return /^\d[^/]*\/.+$/.test(policy) ? 'code' : otherwise;
}

function quotaOf({ kind, quota, windowMs }: PolicyStats): string {
  if (quota < 0) return 'no limit';
  return kind === 'concurrency' ? `${quota} at once` : `${quota} in ${windowMs} ms`;
}

function same(one: PlanDefinition, other: PlanDefinition): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
