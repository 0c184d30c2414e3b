import { quote, RateLimitError } from '../../core/errors.js';
import { parseJson } from '../../files/parse-json.js';
import { checkFileSize, readTextFile } from '../../files/text-file.js';
import type { FileFormat } from '../../files/watched-file.js';
import { checkGatewayConfig, GATEWAY_FIELDS } from './check-gateway-config.js';
import type { GatewayConfig } from './gateway-config.js';
import { checkFields, InvalidGatewayConfigError } from './gateway-config.js';
import type { YamlPackage } from './yaml-text.js';
import { YamlText } from './yaml-text.js';

const SCHEMA_FIELD = '$schema';
const FILE_FIELDS: readonly string[] = [...GATEWAY_FIELDS, SCHEMA_FIELD];
/** What to do about a file that is too long. */
const TOO_LONG = 'Hosts such as "*.example.com" stand for many.';
const NO_YAML =
  'is written in YAML, which takes the package "yaml". ' +
  'Install it (npm install yaml), or write the file in JSON.';

/** The path that messages about a configuration start with, and the field that they complain of. */
const PATH = /^[a-z$]+(?:\[\d+\]|\.[a-z]+)*/i;
const UNKNOWN_FIELD = /^[^:]*: unknown field ("(?:[^"\\]|\\.)*")\./;

/** A configuration file that cannot be used. The message starts with its name and the place in it. */
export class InvalidGatewayFileError extends RateLimitError {
  override readonly name = 'InvalidGatewayFileError';

  constructor(file: string, problem: string, place?: string) {
    super('INVALID_OPTION', `${file}${place === undefined ? '' : `, ${place}`}: ${problem}`);
  }
}

/**
 * Files with the configuration of a gateway, for `WatchedFile`. The package `yaml` is needed for
 * files in YAML; for those in JSON it finds the lines that errors name.
 */
export function gatewayFileFormat(yaml?: YamlPackage): FileFormat<GatewayConfig> {
  return {
    read: (path) => readGatewayText(path),
    parse: (text, path) => parseGatewayFile(text, path, yaml),
  };
}

/**
 * The configuration in a file: JSON if it is called so or starts with a brace, YAML if not. Throws an
 * `InvalidGatewayFileError` that names the file, the line and the column, the path of the value in
 * it and what to write; what it returns is sure to pass `checkGatewayConfig`.
 */
export function parseGatewayFile(text: string, name: string, yaml?: YamlPackage): GatewayConfig {
  // Some editors start a file with a byte order mark.
  const content = text.startsWith('\uFEFF') ? text.slice(1) : text;
  try {
    checkFileSize(Buffer.byteLength(content), TOO_LONG);
    return isJson(content, name) ? fromJson(content, yaml) : fromYaml(content, yaml);
  } catch (error) {
    throw withName(name, error);
  }
}

async function readGatewayText(path: string): Promise<string> {
  try {
    return await readTextFile(path, TOO_LONG);
  } catch (error) {
    throw withName(path, error);
  }
}

function isJson(text: string, name: string): boolean {
  return /\.json$/i.test(name) || (!/\.ya?ml$/i.test(name) && /^\s*\{/.test(text));
}

function fromJson(text: string, yaml: YamlPackage | undefined): GatewayConfig {
  return configIn(parseJson(text), (message) => yaml && placeInJson(text, yaml, message));
}

function placeInJson(text: string, yaml: YamlPackage, message: string): string | undefined {
  try {
    return placeOf(new YamlText(text, yaml), message);
  } catch {
    // What is wrong is known all the same.
    return undefined;
  }
}

function fromYaml(text: string, yaml: YamlPackage | undefined): GatewayConfig {
  if (!yaml) throw new RateLimitError('INVALID_OPTION', NO_YAML);
  const source = new YamlText(text, yaml);
  const { problem } = source;
  if (problem) throw new PlacedError(problem.message, problem.place);
  return configIn(source.value(), (message) => placeOf(source, message));
}

function configIn(value: unknown, find: (message: string) => string | undefined): GatewayConfig {
  try {
    checkFields('The file', value, FILE_FIELDS);
    const { [SCHEMA_FIELD]: schema, ...config } = value as Record<string, unknown>;
    checkSchemaField(schema);
    checkGatewayConfig(config);
    return config;
  } catch (error) {
    if (!(error instanceof InvalidGatewayConfigError)) throw error;
    throw new PlacedError(error.message, find(error.message));
  }
}

function checkSchemaField(schema: unknown): void {
  if (schema === undefined || typeof schema === 'string') return;
  throw new InvalidGatewayConfigError(
    `${SCHEMA_FIELD} must be the address of a schema, got ${quote(schema)}.`,
  );
}

function placeOf(source: YamlText, message: string): string {
  const steps = PATH.exec(message)?.[0].match(/[a-z$]+|\d+/gi) ?? [];
  const path = steps.map((step) => (/^\d/.test(step) ? Number(step) : step));
  const field = UNKNOWN_FIELD.exec(message)?.[1];
  return source.placeOf(path, field === undefined ? undefined : (JSON.parse(field) as string));
}

/** A problem of which the place is known, but not yet the name of the file. */
class PlacedError extends RateLimitError {
  constructor(
    message: string,
    readonly place: string | undefined,
  ) {
    super('INVALID_OPTION', message);
  }
}

function withName(file: string, error: unknown): unknown {
  if (error instanceof PlacedError) {
    return new InvalidGatewayFileError(file, error.message, error.place);
  }
  return error instanceof RateLimitError ? new InvalidGatewayFileError(file, error.message) : error;
}
