import type { DomainRule, OutboundRulesOptions } from './outbound-rules.js';
import { DEFAULT_DOMAIN_RULE, sourceOf } from './outbound-rules.js';

/** Where a rule is written: in the file, in the options, nowhere, or changed while running. */
export type RuleSource = 'file' | 'option' | 'default' | 'update';

/** A rule that counts, and where it came from. */
export interface RuleExplanation {
  /** A name, a wildcard or `default`. */
  readonly domain: string;
  readonly rule: DomainRule;
  readonly source: RuleSource;
}

/** Tells where each rule came from, the default first. What the file says counts before the options. */
export function explainRules(
  options: OutboundRulesOptions,
  file: OutboundRulesOptions,
): RuleExplanation[] {
  const domains = new Map<string, RuleExplanation>();
  const add = (rules: OutboundRulesOptions['domains'], source: RuleSource) => {
    for (const [domain, rule] of Object.entries(byName(rules))) {
      domains.set(domain, { domain, rule, source });
    }
  };
  add(options.domains, 'option');
  add(file.domains, 'file');
  return [defaultRule(options, file), ...domains.values()];
}

/** However a domain is written, the file and the code mean the same one. */
export function byName(domains: OutboundRulesOptions['domains'] = {}): NonNullable<typeof domains> {
  const names = new Set<string>();
  for (const key of Object.keys(domains)) {
    // Two keys for one domain in one place are a mistake, which the rules themselves tell.
    if (names.has(sourceOf(key))) return domains;
    names.add(sourceOf(key));
  }
  return Object.fromEntries(Object.entries(domains).map(([key, rule]) => [sourceOf(key), rule]));
}

function defaultRule(options: OutboundRulesOptions, file: OutboundRulesOptions): RuleExplanation {
  const domain = 'default';
  if (file.default) return { domain, rule: file.default, source: 'file' };
  if (options.default) return { domain, rule: options.default, source: 'option' };
  return { domain, rule: DEFAULT_DOMAIN_RULE, source: 'default' };
}
