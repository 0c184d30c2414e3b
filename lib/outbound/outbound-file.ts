import { checked } from '../core/check/check.js';
import { object } from '../core/check/containers.js';
import type { Path } from '../core/check/path.js';
import { optional, text } from '../core/check/values.js';
import { RateLimitError } from '../core/errors.js';
import { parseJson } from '../files/parse-json.js';
import type { FindPlace } from '../files/placed-error.js';
import { inJson, PlacedError, placedError } from '../files/placed-error.js';
import { checkFileSize, readTextFile } from '../files/text-file.js';
import type { DomainRule } from './domain-rule.js';
import { burst, checkTimeToFill, requestRate, slots } from './domain-rule.js';
import type { OutboundRulesOptions } from './outbound-rules.js';
import { OutboundRules, rulesByDomain, sourceOf } from './outbound-rules.js';

/** What to do about a file that is too long. */
const TOO_LONG = 'Wildcards such as "*.example.com" stand for many domains.';

/** A rule as it is written in a file; when to cool down is written in the code. */
interface RuleInFile {
  readonly requests_per_second: number;
  readonly burst_capacity: number;
  readonly max_concurrent?: number;
}

interface FileContent {
  readonly version: string;
  readonly default_config?: DomainRule;
  readonly domains?: Readonly<Record<string, DomainRule>>;
  readonly $schema?: string;
}

const ruleInFile = object<RuleInFile>({
  requests_per_second: requestRate,
  burst_capacity: burst,
  max_concurrent: slots,
});
const fileContent = object<FileContent>({
  version: text('"1.0"', /^1\.\d{1,9}$/),
  default_config: optional(rule),
  domains: optional(rulesByDomain(rule)),
  $schema: optional(text('the address of a schema', /^/)),
});

/** A file of rules that cannot be used. The message starts with its name and the place in it. */
export class InvalidOutboundFileError extends RateLimitError {
  override readonly name = 'InvalidOutboundFileError';

  constructor(file: string, problem: string, place?: string, path?: Path) {
    super('INVALID_OPTION', `${file}${place === undefined ? '' : `, ${place}`}: ${problem}`, path);
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
 * names the file, the line and the column, the path of the value in it and what to write; what it
 * returns is sure to make rules.
 */
export function parseOutboundFile(json: string, name: string): OutboundRulesOptions {
  try {
    checkFileSize(Buffer.byteLength(json), TOO_LONG);
    return optionsIn(parseJson(json), inJson(json));
  } catch (error) {
    throw withName(name, error);
  }
}

function optionsIn(file: unknown, findKey: FindPlace): OutboundRulesOptions {
  const find: FindPlace = (path, atKey) => findKey(asWritten(path, file), atKey);
  const { default_config, domains } = checked(fileContent, file, (mistake) =>
    placedError(mistake, 'the file', find),
  );
  const options = {
    ...(default_config === undefined ? {} : { default: default_config }),
    ...(domains === undefined ? {} : { domains }),
  };
  // The keys of domains are checked all together.
  new OutboundRules(options);
  return options;
}

/** Errors call domains by what their keys stand for. */
function asWritten(path: Path, file: unknown): Path {
  const [field, source, ...rest] = path;
  if (field !== 'domains' || source === undefined) return path;
  const keys = Object.keys((file as FileContent).domains ?? {});
  return [field, keys.find((key) => sourceOf(key) === source) ?? source, ...rest];
}

function rule(value: unknown, path: Path): DomainRule {
  const { requests_per_second, burst_capacity, max_concurrent } = ruleInFile(value, path);
  const checkedRule = {
    requestsPerSecond: requests_per_second,
    burstCapacity: burst_capacity,
    ...(max_concurrent === undefined ? {} : { maxConcurrent: max_concurrent }),
  };
  checkTimeToFill(checkedRule, path, ['requests_per_second', 'burst_capacity']);
  return checkedRule;
}

function withName(file: string, error: unknown): unknown {
  if (error instanceof PlacedError) {
    return new InvalidOutboundFileError(file, error.message, error.place, error.path);
  }
  if (!(error instanceof RateLimitError)) return error;
  return new InvalidOutboundFileError(file, error.message, undefined, error.path);
}
