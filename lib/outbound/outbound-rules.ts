import { isIP } from 'node:net';
import { MAX_PERIOD_MS, MAX_QUOTA } from '../core/define-plan.js';
import { listKnown, quote, RateLimitError } from '../core/errors.js';
import { DENY_ALL, UNLIMITED } from '../core/plan.js';
import { normalizeDomain } from './domain-name.js';
import type { ThrottleRule } from './throttle-rule.js';
import { checkThrottleRule } from './throttle-rule.js';

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

  constructor(problem: string) {
    super('INVALID_OPTION', problem);
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
const OPTIONS: readonly string[] = ['default', 'domains'];
const NO_WARNINGS: readonly string[] = [];

const WHOLE = `a whole number from 1 to ${MAX_QUOTA}`;
const CHECKS: {
  readonly [Field in keyof DomainRule]-?: [(value: unknown) => boolean, string];
} = {
  requestsPerSecond: [
    (value) => typeof value === 'number' && value > 0 && value <= MAX_REQUESTS_PER_SECOND,
    `a number above 0, up to ${MAX_REQUESTS_PER_SECOND}`,
  ],
  burstCapacity: [isQuota, WHOLE],
  maxConcurrent: [
    (value) => value === undefined || value === UNLIMITED || value === DENY_ALL || isQuota(value),
    `a whole number from -1 to ${MAX_QUOTA}, or left out`,
  ],
  throttle: [() => true, ''],
};
/** The fields of a rule, in the order in which they are explained. */
const RULE_FIELDS = Object.keys(CHECKS) as readonly (keyof DomainRule)[];

/**
 * Checks a rule and returns what looks unintended in it. Throws an `InvalidDomainRuleError` that
 * starts with `where`; `spell` is how the fields are called there.
 */
export function checkRule(
  where: string,
  rule: DomainRule,
  spell: (field: keyof DomainRule) => string = (field) => field,
): readonly string[] {
  checkFields(where, rule, RULE_FIELDS);
  for (const field of RULE_FIELDS) {
    const [accepts, expected] = CHECKS[field];
    if (accepts(rule[field])) continue;
    throw new InvalidDomainRuleError(
      `${where}.${spell(field)} must be ${expected}, got ${quote(rule[field])}.`,
    );
  }
  if (rule.throttle) checkThrottleRule(`${where}.throttle`, rule.throttle);
  checkTimeToFill(where, rule, spell);
  return warningsOf(where, rule);
}

/** Refuses what is no object, and fields that it may not have. Says which were meant. */
export function checkFields(where: string, value: unknown, known: readonly string[]): void {
  const fields = known.map((field) => `"${field}"`).join(', ');
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidDomainRuleError(
      `${where} must be an object with ${fields}, got ${quote(value)}.`,
    );
  }
  const unknown = Object.keys(value).find((field) => !known.includes(field));
  if (unknown === undefined) return;
  const meant = known.find((field) => bare(field) === bare(unknown));
  throw new InvalidDomainRuleError(
    `${where}: unknown field ${quote(unknown)}. ` +
      (meant === undefined ? listKnown('fields', known) : `Did you mean "${meant}"?`),
  );
}

/** The rules in `domains`, by key; an error when it is no object or has too many. */
export function entriesOf<Rule>(domains: Readonly<Record<string, Rule>>): [string, Rule][] {
  if (typeof domains !== 'object' || domains === null || Array.isArray(domains)) {
    throw new InvalidDomainRuleError(
      `domains must be an object of rules by domain, got ${quote(domains)}.`,
    );
  }
  const entries = Object.entries(domains);
  if (entries.length <= MAX_DOMAIN_RULES) return entries;
  throw new InvalidDomainRuleError(
    `domains must have at most ${MAX_DOMAIN_RULES} rules, got ${entries.length}. ` +
      'Wildcards such as "*.example.com" stand for many.',
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

  constructor(options: OutboundRulesOptions = {}) {
    checkFields('The outbound rules', options, OPTIONS);
    const { default: standard = DEFAULT_DOMAIN_RULE, domains = {} } = options;
    const warnings: string[] = [];
    this.#default = checkedRule(DEFAULT, DEFAULT, standard, warnings);
    for (const [key, rule] of entriesOf(domains)) this.#add(key, rule, warnings);
    this.warnings = Object.freeze(warnings);
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

  #add(key: string, rule: DomainRule, warnings: string[]): void {
    const source = sourceOf(key);
    const wildcard = source.startsWith(WILDCARD);
    const rules = wildcard ? this.#suffixes : this.#names;
    const name = wildcard ? source.slice(WILDCARD.length) : source;
    if (rules.has(name)) {
      throw new InvalidDomainRuleError(`domains has two rules for "${source}". Keep one of them.`);
    }
    rules.set(name, checkedRule(source, `domains["${source}"]`, rule, warnings));
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
  );
}

function wildcardIn(key: string): string {
  const suffix = normalizeDomain(key.slice(WILDCARD.length));
  if (isIP(suffix) === 0) return WILDCARD + suffix;
  throw new InvalidDomainRuleError(
    `domains["*.${suffix}"]: nothing is below an address. Write "${suffix}" alone.`,
  );
}

function checkedRule(
  source: string,
  where: string,
  given: DomainRule,
  warnings: string[],
): FoundRule {
  warnings.push(...checkRule(where, given));
  return Object.freeze({ source, rule: Object.freeze({ ...given }) });
}

function checkTimeToFill(
  where: string,
  { requestsPerSecond, burstCapacity }: DomainRule,
  spell: (field: keyof DomainRule) => string,
): void {
  if ((burstCapacity / requestsPerSecond) * 1_000 <= MAX_PERIOD_MS) return;
  throw new InvalidDomainRuleError(
    `${where}: at a ${spell('requestsPerSecond')} of ${requestsPerSecond} it takes more than ten ` +
      `years until ${burstCapacity} may go at once. Raise it or lower ${spell('burstCapacity')}.`,
  );
}

function warningsOf(
  where: string,
  { requestsPerSecond, burstCapacity }: DomainRule,
): readonly string[] {
  const usual = requestsPerSecond * LONGEST_USUAL_BURST_SECONDS;
  if (burstCapacity <= usual) return NO_WARNINGS;
  return [
    `${where}: a burst of ${burstCapacity} is more than a minute's worth of requests (${Number(usual.toPrecision(6))}). ` +
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

function isQuota(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= MAX_QUOTA;
}

/** "requests_per_second" and "RequestsPerSecond" mean the same. */
function bare(field: string): string {
  return field.replaceAll(/[^a-z]/gi, '').toLowerCase();
}
