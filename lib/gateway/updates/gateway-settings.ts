import type { DocumentStore } from '../../core/document-store.js';
import { lacksDocuments } from '../../core/document-store.js';
import { RateLimitError } from '../../core/errors.js';
import { SharedDocument } from '../../shared/shared-document.js';
import type { CheckedGateway } from '../config/check-gateway-config.js';
import type { GatewayOverrides } from './gateway-overrides.js';
import { NO_OVERRIDES, parseOverrides, withoutChanged } from './gateway-overrides.js';

/** The configuration, and what was changed since, by any process. */
export interface Settings {
  readonly config: CheckedGateway;
  readonly overrides: GatewayOverrides;
}

/** What an update makes of the overrides; undefined when it changes nothing. */
export type GatewayUpdate = (settings: Settings) => GatewayOverrides | undefined;

/** Where the settings are kept, and who is notified. */
export interface GatewaySettingsDependencies {
  /** Undefined where the store of the application keeps no documents: nothing can be updated then. */
  readonly documents: DocumentStore | undefined;
  /** Called with new settings. An update is done when this is. */
  readonly apply: (settings: Settings) => Promise<void>;
  /** Called when the updates of other processes cannot be read. */
  readonly onUnreadable: (error: Error) => void;
}

/** The configuration of this process, and the updates that all processes share. */
export class GatewaySettings {
  #config: CheckedGateway;
  readonly #updates: SharedDocument<GatewayOverrides> | undefined;

  constructor(
    config: CheckedGateway,
    { documents, apply, onUnreadable }: GatewaySettingsDependencies,
  ) {
    this.#config = config;
    this.#updates =
      documents &&
      new SharedDocument(documents, {
        name: 'gateway',
        empty: NO_OVERRIDES,
        parse: parseOverrides,
        onChange: (overrides) => apply({ config: this.#config, overrides }),
        onUnreadable,
        unavailable,
      });
  }

  get overrides(): GatewayOverrides {
    return this.#updates?.value ?? NO_OVERRIDES;
  }

  /** Takes over the updates of other processes from now on. */
  start(): Promise<void> {
    return this.#shared().start();
  }

  /** Takes over no more updates. */
  stop(): void {
    this.#updates?.stop();
  }

  /** Changes the limits in all processes. Returns false if the update changes nothing. */
  async update(update: GatewayUpdate): Promise<boolean> {
    return this.#shared().change((overrides) => update({ config: this.#config, overrides }));
  }

  /**
   * Takes over another configuration. Levels whose limits differ in it lose their updates, here at
   * once, and in the other processes as soon as the store answers.
   */
  changeConfig(config: CheckedGateway): Promise<void> {
    return this.#shared().amend(() => {
      const before = this.#config;
      this.#config = config;
      return (overrides) => withoutChanged(overrides, before, config);
    });
  }

  #shared(): SharedDocument<GatewayOverrides> {
    if (this.#updates) return this.#updates;
    throw lacksDocuments('Gateway limits that change while running');
  }
}

function unavailable(reason: string): RateLimitError {
  return new RateLimitError(
    'GATEWAY_UNAVAILABLE',
    `The limits of the gateway stay as they are, for they could not be changed: ${reason}`,
  );
}
