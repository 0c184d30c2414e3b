import { InvalidOptionError } from '../../core/errors.js';
import type { GatewayConfig } from './gateway-config.js';
import { checkFields } from './gateway-config.js';

/** The configuration of a gateway in a file. */
export interface GatewayFileOptions {
  /** A YAML or JSON file; YAML takes the package `yaml`. */
  readonly file: string;
  /**
   * Whether the file is read again when it changes.
   * @default true
   */
  readonly watch?: boolean;
}

/** What a gateway limits: the configuration itself, or a file that contains it. */
export type GatewayOptions = GatewayConfig | GatewayFileOptions;

const FILE_OPTIONS: readonly string[] = ['file', 'watch'];

/** Whether the configuration is in a file. Throws if the file is not named properly. */
export function isInFile(options: GatewayOptions): options is GatewayFileOptions {
  if (!('file' in options) && !('watch' in options)) return false;
  checkFields('gateway', options, FILE_OPTIONS);
  const { file, watch = true } = options as Partial<GatewayFileOptions>;
  if (typeof file !== 'string' || file === '') {
    throw new InvalidOptionError('gateway.file', 'the path of a file', file);
  }
  if (typeof watch !== 'boolean') {
    throw new InvalidOptionError('gateway.watch', 'true or false', watch);
  }
  return true;
}
