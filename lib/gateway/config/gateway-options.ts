import { checked } from '../../core/check/check.js';
import { object } from '../../core/check/containers.js';
import { optionError } from '../../core/check/mistake.js';
import { flag, optional, text } from '../../core/check/values.js';
import type { GatewayConfig } from './gateway-config.js';

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

const fileOptions = object<GatewayFileOptions>({
  file: text('the path of a file'),
  watch: optional(flag),
});

/** Whether the configuration is in a file. Throws if the file is not named properly. */
export function isInFile(options: GatewayOptions): options is GatewayFileOptions {
  if (!('file' in options) && !('watch' in options)) return false;
  checked(fileOptions, options, optionError, ['gateway']);
  return true;
}
