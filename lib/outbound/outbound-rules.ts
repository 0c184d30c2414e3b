import { isIP } from 'node:net';
import type { Check } from '../core/check/check.js';
import { checked } from '../core/check/check.js';
import { object, record } from '../core/check/containers.js';
import { optional } from '../core/check/values.js';
import { UNLIMITED } from '../core/plan.js';
import { normalizeDomain } from './domain-name.js';
import type { DomainRule } from './domain-rule.js';
import { domainRule, InvalidDomainRuleError, ruleError, warningsOf } from './domain-rule.js';

export type { DomainRule } from './domain-rule.js';
export { InvalidDomainRuleError } from './domain-rule.js';

/** What the domains allow, as it is written in the options. */
export interface OutboundRulesOptions {
  /**
   * The rule of every domain that `domains` does not name.
   * @default { requestsPerSecond: 1, burstCapacity: 1 }
   */
  readonly default?: DomainRule;
  /**
   * Rules by domain. `*.example.com` stands for all that is below `example.com`, at any depth, but not
   * for `example.com` itself.
   * @default {}
   */
  readonly domains?: Readonly<Record<string, DomainRule>>;
}

/** The rule of a domain, and the key that it was found under: `'default'` when there was none. */
export interface FoundRule {
  readonly rule: DomainRule;
  readonly source: string;
}

/** Keys of rules that differ, `'default'` among them. */
export interface RulesDifference {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/** The rule of domains that nobody spoke about: as careful as a polite visitor. */
export const DEFAULT_DOMAIN_RULE: DomainRule = Object.freeze({
  requestsPerSecond: 1,
  burstCapacity: 1,
});
/** Rules that are kept at most. */
const MAX_DOMAIN_RULES = 100_000;

const DEFAULT = 'default';
const WILDCARD = '*.';
/** Checks rules by domain. Their paths name what the keys stand for. */
export function rulesByDomain<Rule>(rule: Check<Rule>): Check<Readonly<Record<string, Rule>>> {
  const size = {
    expected: 'an object of rules by domain',
    most: MAX_DOMAIN_RULES,
    advice: 'Wildcards such as "*.example.com" stand for many.',
  };
  return record(rule, size, sourceOf);
}

const rulesOptions = object<OutboundRulesOptions>({
  default: optional(domainRule),
  domains: optional(rulesByDomain(domainRule)),
});

/**
 * What a key of `domains` stands for, written as it is counted: `https://API.example.com/` is
 * `api.example.com`. Errors call rules by it, as the key may have been a URL with a password.
 */
export function sourceOf(key: string): string {
  return key.startsWith(WILDCARD) ? wildcardIn(key) : nameIn(key);
}

/**
 * What each domain allows. Never changes: a new configuration is a new object. Finding a rule costs
 * the same however many there are.
 */
export class OutboundRules {
  /** What looks unintended, in sentences for a log. */
  readonly warnings: readonly string[];
  readonly #default: FoundRule;
  /** Rules of single names. */
  readonly #names = new Map<string, FoundRule>();
  /** Rules of wildcards, by what follows the star. */
  readonly #suffixes = new Map<string, FoundRule>();

  constructor(given: OutboundRulesOptions = {}) {
    const { default: standard = DEFAULT_DOMAIN_RULE, domains = {} } = checkedRules(given);
    this.#default = found(DEFAULT, standard);
    for (const [key, rule] of Object.entries(domains)) this.#add(key, rule);
    this.warnings = Object.freeze([
      ...warningsOf([DEFAULT], standard),
      ...Object.entries(domains).flatMap(([key, rule]) =>
        warningsOf(['domains', sourceOf(key)], rule),
      ),
    ]);
  }

  /** The rule of a domain: that of its name, else of the closest wildcard above, else the default. */
  ruleFor(domain: string): FoundRule {
    const name = normalizeDomain(domain);
    return this.#names.get(name) ?? this.#wildcardFor(name) ?? this.#default;
  }

  /** The rule of that name, wildcard or `default`, as it is written; undefined when there is none. */
  find(source: string): DomainRule | undefined {
    if (source === DEFAULT) return this.#default.rule;
    const isWildcard = source.startsWith(WILDCARD);
    return isWildcard
      ? this.#suffixes.get(source.slice(WILDCARD.length))?.rule
      : this.#names.get(source)?.rule;
  }

  /** The names under which the rules are found, the default first. */
  sources(): string[] {
    return [...this.#byKey().keys()];
  }

  /** What has to be done to these rules to make them the others. */
  difference(other: OutboundRules): RulesDifference {
    const before = this.#byKey();
    const after = other.#byKey();
    const keys = [...after.keys()];
    return {
      added: keys.filter((key) => !before.has(key)),
      changed: keys.filter((key) => before.has(key) && !same(before.get(key)!, after.get(key)!)),
      removed: [...before.keys()].filter((key) => !after.has(key)),
    };
  }

  #add(key: string, rule: DomainRule): void {
    const source = sourceOf(key);
    const wildcard = source.startsWith(WILDCARD);
    const rules = wildcard ? this.#suffixes : this.#names;
    const name = wildcard ? source.slice(WILDCARD.length) : source;
    if (rules.has(name)) {
      throw new InvalidDomainRuleError(`domains has two rules for "${source}". Keep one of them.`, [
        'domains',
        source,
      ]);
    }
    rules.set(name, found(source, rule));
  }

  #wildcardFor(name: string): FoundRule | undefined {
    if (this.#suffixes.size === 0) return undefined;
    for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) {
      const found = this.#suffixes.get(name.slice(dot + 1));
      if (found) return found;
    }
    return undefined;
  }

  #byKey(): ReadonlyMap<string, DomainRule> {
    const found = [this.#default, ...this.#names.values(), ...this.#suffixes.values()];
    return new Map(found.map(({ source, rule }) => [source, rule]));
  }
}

function nameIn(key: string): string {
  const name = key === '*' ? key : normalizeDomain(key);
  // Hardly ever meant as a host, and its rule could not be told from the default.
  if (name !== '*' && name !== DEFAULT) return name;
  throw new InvalidDomainRuleError(
    `domains["${name}"] is no domain. Write the rule of all other domains as the default.`,
    ['domains', name],
  );
}

function wildcardIn(key: string): string {
  const suffix = normalizeDomain(key.slice(WILDCARD.length));
  if (isIP(suffix) === 0) return WILDCARD + suffix;
  throw new InvalidDomainRuleError(
    `domains["*.${suffix}"]: nothing is below an address. Write "${suffix}" alone.`,
    ['domains', WILDCARD + suffix],
  );
}

function checkedRules(given: OutboundRulesOptions): OutboundRulesOptions {
  return checked(rulesOptions, given, ruleError);
}

function found(source: string, rule: DomainRule): FoundRule {
  return Object.freeze({ source, rule: Object.freeze({ ...rule }) });
}

function same(one: DomainRule, other: DomainRule): boolean {
  return JSON.stringify(normalForm(one)) === JSON.stringify(normalForm(other));
}

/** Equal rules are written equally. */
function normalForm({ throttle = {}, ...rule }: DomainRule): unknown {
  const sorted = Object.entries(throttle).sort(([one], [other]) => (one < other ? -1 : 1));
  return [rule.requestsPerSecond, rule.burstCapacity, rule.maxConcurrent ?? UNLIMITED, sorted];
}
