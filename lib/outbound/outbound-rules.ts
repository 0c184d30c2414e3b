import { isIP } from 'node:net';
import type { Check } from '../core/check/check.js';
import { checked } from '../core/check/check.js';
import { object, record } from '../core/check/containers.js';
import { Mistake } from '../core/check/mistake.js';
import type { Path } from '../core/check/path.js';
import { pathText } from '../core/check/path.js';
import { optional, that, wholeNumber } from '../core/check/values.js';
import { MAX_PERIOD_MS, MAX_QUOTA } from '../core/define-plan.js';
import { RateLimitError } from '../core/errors.js';
import { UNLIMITED } from '../core/plan.js';
import { normalizeDomain } from './domain-name.js';
import type { ThrottleRule } from './throttle-rule.js';
import { throttleRule } from './throttle-rule.js';

/** What one domain allows. */
export interface DomainRule {
  /** Requests that are let go each second. Fractions are welcome: 0.5 is one every two seconds. */
  readonly requestsPerSecond: number;
  /** Requests that may go at once after a pause. */
  readonly burstCapacity: number;
  /**
   * Requests that may be under way at once. −1 is no limit, 0 refuses all.
   * @default -1
   */
  readonly maxConcurrent?: number;
  /**
   * When to cool down, where it differs from that of the other domains.
   * @default that of all domains
   */
  readonly throttle?: ThrottleRule;
}

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

/** A rule that cannot work: a negative rate, a burst of nothing, an unknown field. */
export class InvalidDomainRuleError extends RateLimitError {
  override readonly name = 'InvalidDomainRuleError';

  constructor(problem: string, path?: Path) {
    super('INVALID_OPTION', problem, path);
  }
}

/** The rule of domains that nobody spoke about: as careful as a polite visitor. */
export const DEFAULT_DOMAIN_RULE: DomainRule = Object.freeze({
  requestsPerSecond: 1,
  burstCapacity: 1,
});
/** Rules that are kept at most. */
const MAX_DOMAIN_RULES = 100_000;

const MAX_REQUESTS_PER_SECOND = 1e6;
/** Beyond a minute's worth of requests a burst no longer looks intended. */
const LONGEST_USUAL_BURST_SECONDS = 60;
const DEFAULT = 'default';
const WILDCARD = '*.';
const NO_WARNINGS: readonly string[] = [];

/** Requests that may be let go each second. */
export const requestRate: Check<number> = that(
  `a number above 0, up to ${MAX_REQUESTS_PER_SECOND}`,
  (value): value is number =>
    typeof value === 'number' && value > 0 && value <= MAX_REQUESTS_PER_SECOND,
);
/** Requests that may go at once. */
export const burst: Check<number> = wholeNumber(1, MAX_QUOTA);
/** Requests that may be under way at once. */
export const slots: Check<number | undefined> = optional(
  wholeNumber(UNLIMITED, MAX_QUOTA, `a whole number from -1 to ${MAX_QUOTA}, or left out`),
);

const ruleFields = object<DomainRule>({
  requestsPerSecond: requestRate,
  burstCapacity: burst,
  maxConcurrent: slots,
  throttle: optional(throttleRule),
});

/** Checks a rule. Throws a `Mistake`. */
export function domainRule(value: unknown, path: Path): DomainRule {
  const rule = ruleFields(value, path);
  checkTimeToFill(rule, path, ['requestsPerSecond', 'burstCapacity']);
  return rule;
}

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

/** The error for what is wrong with rules. */
export function ruleError(mistake: Mistake): InvalidDomainRuleError {
  return new InvalidDomainRuleError(mistake.sentence('The outbound rules'), mistake.path);
}

/** Refuses a burst that takes longer to come back than can be counted; `names` are for the error. */
export function checkTimeToFill(
  { requestsPerSecond, burstCapacity }: DomainRule,
  path: Path,
  [rateName, burstName]: readonly [string, string],
): void {
  if ((burstCapacity / requestsPerSecond) * 1_000 <= MAX_PERIOD_MS) return;
  throw new Mistake(
    path,
    `at a ${rateName} of ${requestsPerSecond} it takes more than ten years until ` +
      `${burstCapacity} may go at once. Raise it or lower ${burstName}.`,
  );
}

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

/** What looks unintended in a rule. */
export function warningsOf(
  path: Path,
  { requestsPerSecond, burstCapacity }: DomainRule,
): readonly string[] {
  const usual = requestsPerSecond * LONGEST_USUAL_BURST_SECONDS;
  if (burstCapacity <= usual) return NO_WARNINGS;
  return [
    `${pathText(path)}: a burst of ${burstCapacity} is more than a minute's worth of requests (${Number(usual.toPrecision(6))}). ` +
      'Is that what the domain allows?',
  ];
}

function same(one: DomainRule, other: DomainRule): boolean {
  return JSON.stringify(normalForm(one)) === JSON.stringify(normalForm(other));
}

/** Equal rules are written equally. */
function normalForm({ throttle = {}, ...rule }: DomainRule): unknown {
  const sorted = Object.entries(throttle).sort(([one], [other]) => (one < other ? -1 : 1));
  return [rule.requestsPerSecond, rule.burstCapacity, rule.maxConcurrent ?? UNLIMITED, sorted];
}
