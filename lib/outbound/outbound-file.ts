import { InvalidOptionError, RateLimitError } from '../core/errors.js';
import { parseJson } from '../files/parse-json.js';
import { checkFileSize, readTextFile } from '../files/text-file.js';
import type { DomainRule, OutboundRulesOptions } from './outbound-rules.js';
import { checkFields, checkRule, entriesOf, OutboundRules, sourceOf } from './outbound-rules.js';

const FIELDS: readonly string[] = ['version', 'default_config', 'domains', '$schema'];
/** What to do about a file that is too long. */
const TOO_LONG = 'Wildcards such as "*.example.com" stand for many domains.';
const VERSION = /^1\.\d{1,9}$/;

/** What the file calls the fields of a rule; when to cool down is written in the code. */
const IN_FILE: Readonly<Partial<Record<keyof DomainRule, string>>> = {
  requestsPerSecond: 'requests_per_second',
  burstCapacity: 'burst_capacity',
  maxConcurrent: 'max_concurrent',
};
const RULE_FIELDS_IN_FILE: readonly string[] = Object.values(IN_FILE);
type InFile = Readonly<Record<string, unknown>>;

/** A file of rules that cannot be used. The message starts with its name. */
export class InvalidOutboundFileError extends RateLimitError {
  override readonly name = 'InvalidOutboundFileError';

  constructor(file: string, problem: string) {
    super('INVALID_OPTION', `${file}: ${problem}`);
  }
}

/** Reads a file of rules, as the options of `OutboundRules`. */
export async function readOutboundFile(path: string): Promise<OutboundRulesOptions> {
  return parseOutboundFile(await readOutboundText(path), path);
}

/** The text of a file of rules, whatever it says. */
export async function readOutboundText(path: string): Promise<string> {
  try {
    return await readTextFile(path, TOO_LONG);
  } catch (error) {
    throw withName(path, error);
  }
}

/**
 * The options of `OutboundRules` that a file asks for. Throws an `InvalidOutboundFileError` that
 * names the file, the place in it and what to write; what it returns is sure to make rules.
 */
export function parseOutboundFile(text: string, name: string): OutboundRulesOptions {
  try {
    checkFileSize(Buffer.byteLength(text), TOO_LONG);
    const options = optionsIn(parseJson(text));
    // The keys of domains are checked all together.
    new OutboundRules(options);
    return options;
  } catch (error) {
    throw withName(name, error);
  }
}

function optionsIn(file: unknown): OutboundRulesOptions {
  checkFields('the file', file, FIELDS);
  const { version, default_config, domains, $schema } = file as Record<string, unknown>;
  if (typeof version !== 'string' || !VERSION.test(version)) {
    throw new InvalidOptionError('version', '"1.0"', version);
  }
  if ($schema !== undefined && typeof $schema !== 'string') {
    throw new InvalidOptionError('$schema', 'the address of a schema', $schema);
  }
  return {
    ...(default_config === undefined ? {} : { default: ruleIn('default_config', default_config) }),
    ...(domains === undefined ? {} : { domains: domainsIn(domains) }),
  };
}

function domainsIn(domains: unknown): Readonly<Record<string, DomainRule>> {
  const entries = entriesOf(domains as Record<string, unknown>);
  // Never by assignment, which would take "__proto__" for the prototype.
  return Object.fromEntries(
    entries.map(([key, rule]) => [key, ruleIn(`domains["${sourceOf(key)}"]`, rule)]),
  );
}

function ruleIn(where: string, written: unknown): DomainRule {
  checkFields(where, written, RULE_FIELDS_IN_FILE);
  const fields = Object.entries(IN_FILE).map(([field, name]) => [field, (written as InFile)[name]]);
  const given = fields.filter(([, value]) => value !== undefined);
  const rule = Object.fromEntries(given) as unknown as DomainRule;
  checkRule(where, rule, (field) => IN_FILE[field] ?? field);
  return rule;
}

function withName(file: string, error: unknown): unknown {
  return error instanceof RateLimitError
    ? new InvalidOutboundFileError(file, error.message)
    : error;
}
