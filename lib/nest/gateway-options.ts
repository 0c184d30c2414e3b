import type { GatewayConfig } from '../gateway/gateway-config.js';

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

/** What a gateway limits: the configuration itself, or the file that it is in. */
export type GatewayOptions = GatewayConfig | GatewayFileOptions;
