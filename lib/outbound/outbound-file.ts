import { readFile, stat } from 'node:fs/promises';
import { InvalidOptionError, quote, RateLimitError } from '../core/errors.js';
import type { DomainRule, OutboundRulesOptions } from './outbound-rules.js';
import { checkFields, checkRule, entriesOf, OutboundRules, sourceOf } from './outbound-rules.js';

/** Longer files are hardly meant: some ten thousand rules fit in. */
const MAX_FILE_BYTES = 1_048_576;
const FIELDS: readonly string[] = ['version', 'default_config', 'domains', '$schema'];
const VERSION = /^1\.\d{1,9}$/;

/** What the file calls the fields of a rule; when to cool down is written in the code. */
const IN_FILE: Readonly<Partial<Record<keyof DomainRule, string>>> = {
  requestsPerSecond: 'requests_per_second',
  burstCapacity: 'burst_capacity',
  maxConcurrent: 'max_concurrent',
};
const RULE_FIELDS_IN_FILE: readonly string[] = Object.values(IN_FILE);
type InFile = Readonly<Record<string, unknown>>;

/** How V8 starts the one message that tells no position. */
const UNEXPECTED_TOKEN = 'Unexpected token';

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
    // Looked at before it is opened: a pipe would be waited for, a device would never end.
    const file = await stat(path);
    if (!file.isFile()) throw new InvalidOutboundFileError(path, 'is not a file.');
    checkSize(path, file.size);
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof RateLimitError) throw error;
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new InvalidOutboundFileError(path, `cannot be read (${code}).`);
  }
}

/**
 * The options of `OutboundRules` that a file asks for. Throws an `InvalidOutboundFileError` that
 * names the file, the place in it and what to write; what it returns is sure to make rules.
 */
export function parseOutboundFile(text: string, name: string): OutboundRulesOptions {
  checkSize(name, Buffer.byteLength(text));
  try {
    const options = optionsIn(parseJson(text));
    // The keys of domains are checked all together.
    new OutboundRules(options);
    return options;
  } catch (error) {
    if (error instanceof RateLimitError) throw new InvalidOutboundFileError(name, error.message);
    throw error;
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

function parseJson(text: string): unknown {
  // Some editors start a file with a byte order mark.
  const json = text.startsWith('\uFEFF') ? text.slice(1) : text;
  try {
    return JSON.parse(json);
  } catch (error) {
    const { message } = error as SyntaxError;
    throw new RateLimitError('INVALID_OPTION', notJson(json, positionIn(json, message)));
  }
}

function notJson(json: string, position: number): string {
  const lines = json.slice(0, position).split('\n');
  const place = `line ${lines.length}, column ${lines.at(-1)!.length + 1}`;
  const rest = json.slice(position, position + 20);
  return `is not JSON at ${place}, ${rest === '' ? 'where it ends' : `at ${quote(rest)}`}.`;
}

/** Where the text stops being JSON: what the engine says, or the end, or at the unexpected token. */
function positionIn(json: string, message: string): number {
  const told = /at position (\d+)/.exec(message)?.[1];
  if (told !== undefined) return Number(told);
  return message.startsWith(UNEXPECTED_TOKEN) ? unexpectedTokenIn(json) : json.length;
}

/** The engine does not tell where, but a text that ends before the token has another problem. */
function unexpectedTokenIn(json: string): number {
  let fine = 0;
  let bad = json.length;
  while (bad - fine > 1) {
    const middle = (fine + bad) >>> 1;
    if (hasUnexpectedToken(json.slice(0, middle))) bad = middle;
    else fine = middle;
  }
  return bad - 1;
}

function hasUnexpectedToken(json: string): boolean {
  try {
    JSON.parse(json);
    return false;
  } catch (error) {
    return (error as SyntaxError).message.startsWith(UNEXPECTED_TOKEN);
  }
}

function checkSize(name: string, bytes: number): void {
  if (bytes <= MAX_FILE_BYTES) return;
  throw new InvalidOutboundFileError(
    name,
    `has ${bytes} bytes, which is more than ${MAX_FILE_BYTES}. ` +
      'Wildcards such as "*.example.com" stand for many domains.',
  );
}
