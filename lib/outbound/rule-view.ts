import type { ThrottleState } from './adaptive-throttler.js';
import type { Domain } from './domain.js';
import type { DomainRule } from './outbound-rules.js';

/** Domains that are told one by one; the others only count. */
const MAX_DOMAINS = 20;

/** One domain at this moment. */
export interface DomainView {
  /** The host that is called. */
  readonly domain: string;
  /** Calls that wait in this process now. */
  readonly waiting: number;
  /** How long the first of them has waited; 0 when none waits. */
  readonly oldestWaitMs: number;
  /** `cooling` while nobody calls, `trying` from then until a call has succeeded. */
  readonly state: ThrottleState['status'];
  /** What is left of its cooldown. */
  readonly cooldownMs: number;
}

/** The domains of one rule at this moment. */
export interface RuleView {
  /** The rule as it is written: a name, a wildcard or `default`. */
  readonly source: string;
  readonly rule: DomainRule;
  readonly waiting: number;
  readonly oldestWaitMs: number;
  readonly state: ThrottleState['status'];
  readonly cooldownMs: number;
  /** Those that somebody waits for or that cool down, 20 at most. */
  readonly domains: readonly DomainView[];
}

const WORST_FIRST: readonly ThrottleState['status'][] = ['cooling', 'trying', 'normal'];

/** What is going on, rule by rule, as far as this process knows: nobody is asked. */
export function viewRules(domains: readonly Domain[], nowMs: number): RuleView[] {
  const rules = new Map<string, { rule: DomainRule; views: DomainView[] }>();
  for (const domain of domains) {
    const { source, rule } = domain.found;
    const known = rules.get(source) ?? { rule, views: [] };
    rules.set(source, known);
    known.views.push(viewOf(domain, nowMs));
  }
  return [...rules].map(([source, { rule, views }]) => sumUp(source, rule, views));
}

/** What is going on under several rules together. */
export function joinViews(views: readonly RuleView[]): Omit<RuleView, 'source' | 'rule'> {
  return { ...together(views), domains: worst(views.flatMap(({ domains }) => domains)) };
}

function sumUp(source: string, rule: DomainRule, views: readonly DomainView[]): RuleView {
  const domains = views.filter(({ waiting, state }) => waiting > 0 || state !== 'normal');
  return { source, rule, ...together(views), domains: worst(domains) };
}

/** What domains and rules are asked alike. */
type Going = Pick<RuleView, 'waiting' | 'oldestWaitMs' | 'state' | 'cooldownMs'>;

function together(views: readonly Going[]): Going {
  const longest = (field: 'oldestWaitMs' | 'cooldownMs') =>
    views.reduce((most, view) => Math.max(most, view[field]), 0);
  return {
    waiting: views.reduce((sum, { waiting }) => sum + waiting, 0),
    oldestWaitMs: longest('oldestWaitMs'),
    state: WORST_FIRST.find((state) => views.some((view) => view.state === state)) ?? 'normal',
    cooldownMs: longest('cooldownMs'),
  };
}

function worst(domains: readonly DomainView[]): readonly DomainView[] {
  return [...domains].sort((one, other) => other.waiting - one.waiting).slice(0, MAX_DOMAINS);
}

function viewOf({ name, queue, cooldownEndsMs }: Domain, nowMs: number): DomainView {
  const cooldownMs = Math.max(0, Math.ceil(cooldownEndsMs - nowMs));
  return {
    domain: name,
    waiting: queue?.waiting ?? 0,
    oldestWaitMs: queue?.oldestWaitMs ?? 0,
    state: cooldownMs > 0 ? 'cooling' : cooldownEndsMs > 0 ? 'trying' : 'normal',
    cooldownMs,
  };
}
