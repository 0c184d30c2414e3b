import { checked } from '../../core/check/check.js';
import type { Fields } from '../../core/check/containers.js';
import { object } from '../../core/check/containers.js';
import type { Path } from '../../core/check/path.js';
import { optional, text } from '../../core/check/values.js';
import { RateLimitError } from '../../core/errors.js';
import { parseJson } from '../../files/parse-json.js';
import type { FindPlace } from '../../files/placed-error.js';
import { inJson, PlacedError, placedError } from '../../files/placed-error.js';
import { checkFileSize, readTextFile } from '../../files/text-file.js';
import type { FileFormat } from '../../files/watched-file.js';
import type { GatewayParts } from './check-gateway-config.js';
import { assemble, GATEWAY_FIELDS } from './check-gateway-config.js';
import type { GatewayConfig } from './gateway-config.js';
import type { YamlPackage } from './yaml-text.js';
import { YamlText } from './yaml-text.js';

interface FileParts extends GatewayParts {
  readonly $schema?: string;
}

const FILE_FIELDS: Fields<FileParts> = {
  ...GATEWAY_FIELDS,
  $schema: optional(text('the address of a schema', /^/)),
};
const fileParts = object(FILE_FIELDS);
/** What to do about a file that is too long. */
const TOO_LONG = 'Hosts such as "*.example.com" stand for many.';
const NO_YAML =
  'is written in YAML, which takes the package "yaml". ' +
  'Install it (npm install yaml), or write the file in JSON.';

/** A configuration file that cannot be used. The message starts with its name and the place in it. */
export class InvalidGatewayFileError extends RateLimitError {
  override readonly name = 'InvalidGatewayFileError';

  constructor(file: string, problem: string, place?: string, path?: Path) {
    super('INVALID_OPTION', `${file}${place === undefined ? '' : `, ${place}`}: ${problem}`, path);
  }
}

/**
 * Files with the configuration of a gateway, for `WatchedFile`. The package `yaml` is needed for
 * files in YAML.
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
    return isJson(content, name) ? fromJson(content) : fromYaml(content, yaml);
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

function fromJson(json: string): GatewayConfig {
  return configIn(parseJson(json), inJson(json));
}

function fromYaml(content: string, yaml: YamlPackage | undefined): GatewayConfig {
  if (!yaml) throw new RateLimitError('INVALID_OPTION', NO_YAML);
  const source = new YamlText(content, yaml);
  const { problem } = source;
  if (problem) throw new PlacedError(problem.message, problem.place);
  return configIn(source.value(), (path, atKey) => source.placeOf(path, atKey));
}

function configIn(value: unknown, find: FindPlace): GatewayConfig {
  checked(
    (file, path) => assemble(fileParts(file, path)),
    value,
    (mistake) => placedError(mistake, 'The file', find),
  );
  const config = { ...(value as { $schema?: unknown } & GatewayConfig) };
  delete config.$schema;
  return config;
}

function withName(file: string, error: unknown): unknown {
  if (error instanceof PlacedError) {
    return new InvalidGatewayFileError(file, error.message, error.place, error.path);
  }
  return error instanceof RateLimitError ? new InvalidGatewayFileError(file, error.message) : error;
}
