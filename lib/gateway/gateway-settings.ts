import type { Awaitable } from '../core/awaitable.js';
import { RateLimitError } from '../core/errors.js';
import type { LimitStore } from '../core/limit-store.js';
import type { Notice } from '../core/notice.js';
import { outsideRequests } from '../core/outside-requests.js';
import type { CheckedGateway } from './check-gateway-config.js';
import type { GatewayOverrides } from './gateway-changes.js';
import { NO_OVERRIDES, parseOverrides, withoutChanged } from './gateway-changes.js';

const NOTICE = 'gateway';
/** How often an update is tried when others update at the same time. */
const MAX_TRIES = 20;
/** A change is told at once; this finds what was told to nobody, and keeps it from expiring. */
const LOOK_AGAIN_MS = 60_000;

/** What changes are made to: the configuration, and what was changed since, by any process. */
export interface Settings {
  readonly config: CheckedGateway;
  readonly overrides: GatewayOverrides;
}

/** Takes over other settings. */
export type ApplySettings = (settings: Settings) => Promise<void>;

/** What an update makes of what all processes share; undefined when it changes nothing. */
export type GatewayUpdate = (settings: Settings) => GatewayOverrides | undefined;

/**
 * The configuration of this process and the changes that all processes share, as a notice in the
 * store. Everything that reads or changes them waits for its turn, so that they are taken over in the
 * order in which they were made.
 */
export class GatewaySettings {
  #config: CheckedGateway;
  #overrides = NO_OVERRIDES;
  #version = 0;
  /** Configurations that changed here while the store could not be told. */
  readonly #untold: [before: CheckedGateway, after: CheckedGateway][] = [];
  #lastTurn: Promise<unknown> = Promise.resolve();
  #unwatch: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    config: CheckedGateway,
    private readonly store: LimitStore,
    private readonly apply: ApplySettings,
  ) {
    this.#config = config;
  }

  get config(): CheckedGateway {
    return this.#config;
  }

  get overrides(): GatewayOverrides {
    return this.#overrides;
  }

  /** Takes over what was changed in other processes, from now on. */
  async start(): Promise<void> {
    const look = () => void this.#inTurn(() => this.#look());
    this.#unwatch = this.store.watchNotice(NOTICE, look);
    this.#timer = outsideRequests(() => setInterval(look, LOOK_AGAIN_MS).unref());
    await this.#inTurn(() => this.#look());
  }

  stop(): void {
    this.#unwatch?.();
    clearInterval(this.#timer);
  }

  /** Changes what all processes share. Answers whether it is a change. */
  update(change: GatewayUpdate): Promise<boolean> {
    return this.#inTurn(() => this.#update(change));
  }

  /**
   * Takes over another configuration: levels whose limits differ in it count before what was changed
   * while running. Holds in this process at once, and where the store cannot be told, it is later.
   */
  changeConfig(config: CheckedGateway): Promise<void> {
    return this.#inTurn(async () => {
      const before = this.#config;
      this.#config = config;
      this.#untold.push([before, config]);
      await this.#take(this.#version, withoutChanged(this.#overrides, before, config));
      await this.#look();
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#lastTurn.then(work);
    this.#lastTurn = turn.catch(() => undefined);
    return turn;
  }

  async #update(change: GatewayUpdate): Promise<boolean> {
    let notice = await this.#read();
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const overrides = this.#overridesIn(notice);
      const next = change({ config: this.#config, overrides });
      if (!next) return false;
      if (await this.#post(notice.version, next)) return true;
      notice = await this.#read();
    }
    throw unavailable('others change them at the same time');
  }

  /** Whether nobody else was faster. */
  async #post(version: number, overrides: GatewayOverrides): Promise<boolean> {
    const text = JSON.stringify(overrides);
    const posted = await answered(() => this.store.postNotice(NOTICE, version, text));
    if (!posted.posted) return false;
    this.#untold.length = 0;
    await this.#take(posted.version, overrides);
    return true;
  }

  #read(): Promise<Notice> {
    return answered(() => this.store.readNotice(NOTICE));
  }

  /** Without what the configuration of this process has changed since. */
  #overridesIn({ version, text }: Notice): GatewayOverrides {
    // A store that has forgotten everything is told again.
    const forgot = version === 0 && this.#version > 0;
    const shared = forgot ? this.#overrides : parseOverrides(text);
    return this.#untold.reduce((left, change) => withoutChanged(left, ...change), shared);
  }

  async #look(): Promise<void> {
    try {
      const notice = await this.#read();
      const overrides = this.#overridesIn(notice);
      const isTold = areSame(parseOverrides(notice.text), overrides);
      if (isTold) this.#untold.length = 0;
      if (!isTold && (await this.#post(notice.version, overrides))) return;
      // A store that has forgotten everything begins to number anew: the same number may be another.
      const isKnown = notice.version === this.#version && areSame(this.#overrides, overrides);
      if (!isKnown) await this.#take(notice.version, overrides);
    } catch {
      // The store does not answer: the limits stay, and it is looked again when it is back.
    }
  }

  async #take(version: number, overrides: GatewayOverrides): Promise<void> {
    this.#version = version;
    this.#overrides = overrides;
    await this.apply({ config: this.#config, overrides });
  }
}

function areSame(some: GatewayOverrides, others: GatewayOverrides): boolean {
  return JSON.stringify(some) === JSON.stringify(others);
}

async function answered<T>(ask: () => Awaitable<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw unavailable((error as Error).message);
  }
}

function unavailable(why: string): RateLimitError {
  return new RateLimitError(
    'GATEWAY_UNAVAILABLE',
    `The limits of the gateway stay as they are, for they could not be changed: ${why}`,
  );
}
