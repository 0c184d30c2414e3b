import { checked } from '../core/check/check.js';
import type { DocumentStore } from '../core/document-store.js';
import type { ChangeNote, SharedEntry } from '../shared/entries-document.js';
import { SharedEntries } from '../shared/shared-entries.js';
import type { DomainRule } from './domain-rule.js';
import { domainRule, InvalidDomainRuleError, ruleError } from './domain-rule.js';
import type { RuleExplanation } from './explain-rules.js';
import type { OutboundRulesOptions } from './outbound-rules.js';
import { DEFAULT_DOMAIN_RULE, sourceOf } from './outbound-rules.js';

const DEFAULT = 'default';

/** Rules that were changed while running, by domain, wildcard or `default`; null where one was removed. */
export type RuleChanges = ReadonlyMap<string, DomainRule | null>;

/**
 * Rules of outbound calls that are changed while running, in all processes that share the store. They
 * count before those of the code and the file, and stay over restarts until they are reverted. A
 * domain is named as in `domains`; `'default'` is the rule of all others.
 */
export class SharedRules {
  readonly #entries: SharedEntries<DomainRule>;

  /** @internal Made by the module. */
  constructor(
    store: DocumentStore,
    onChange: (changes: RuleChanges) => void,
    onProblem: (message: string) => void,
  ) {
    this.#entries = new SharedEntries<DomainRule>(store, {
      name: 'outbound',
      what: 'outbound rules',
      check: checkedRule,
      onChange: () => onChange(this.changes()),
      onProblem,
    });
  }

  /**
   * Reads the rules and follows their changes from now on.
   * @internal
   */
  start(): Promise<void> {
    return this.#entries.start();
  }

  /**
   * Stops following changes.
   * @internal
   */
  stop(): void {
    this.#entries.stop();
  }

  /** What was changed, by domain; the value of a rule that was removed is null. */
  entries(): ReadonlyMap<string, SharedEntry<DomainRule>> {
    return this.#entries.entries();
  }

  /**
   * The rules alone.
   * @internal
   */
  changes(): RuleChanges {
    return new Map([...this.entries()].map(([source, { value }]) => [source, value]));
  }

  /** Sets the rule of a domain, in all processes. Returns false if nothing changes. */
  async set(domain: string, rule: DomainRule, note?: ChangeNote): Promise<boolean> {
    return this.#entries.set(nameOf(domain), rule, note);
  }

  /**
   * Removes the rule of a domain, in all processes, also one of the code or the file: the domain
   * follows a wildcard or the default then. Returns false if nothing changes.
   */
  async remove(domain: string, note?: ChangeNote): Promise<boolean> {
    return this.#entries.set(nameOf(domain), null, note);
  }

  /** Goes back to the rule of the file or the code. Returns false if nothing was changed. */
  async revert(domain: string): Promise<boolean> {
    return this.#entries.delete(nameOf(domain));
  }
}

function nameOf(domain: string): string {
  return domain === DEFAULT ? domain : sourceOf(domain);
}

function checkedRule(name: string, value: unknown): DomainRule {
  const path = name === DEFAULT ? [DEFAULT] : ['domains', name];
  if (nameOf(name) !== name) {
    const problem = `domains["${name}"] must be written as "${nameOf(name)}".`;
    throw new InvalidDomainRuleError(problem, path);
  }
  return checked(domainRule, value, ruleError, path);
}

/** The rules of the code and the file, with what was changed while running laid over them. */
export function withRuleChanges(
  { default: standard, domains = {} }: OutboundRulesOptions,
  changes: RuleChanges,
): OutboundRulesOptions {
  const changedDefault = changes.get(DEFAULT);
  const shown = changedDefault === undefined ? standard : (changedDefault ?? undefined);
  const changed = new Map([...Object.entries(domains), ...changes]);
  changed.delete(DEFAULT);
  const kept = [...changed].filter((one): one is [string, DomainRule] => one[1] !== null);
  return {
    ...(shown === undefined ? {} : { default: shown }),
    domains: Object.fromEntries(kept),
  };
}

/** The same for explanations. */
export function explainRuleChanges(
  explained: readonly RuleExplanation[],
  changes: RuleChanges,
): RuleExplanation[] {
  const rules = new Map(explained.map((one) => [one.domain, one]));
  for (const [domain, rule] of changes) {
    if (rule) rules.set(domain, { domain, rule, source: 'update' });
    else if (domain !== DEFAULT) rules.delete(domain);
    else rules.set(domain, { domain, rule: DEFAULT_DOMAIN_RULE, source: 'update' });
  }
  return [...rules.values()];
}
