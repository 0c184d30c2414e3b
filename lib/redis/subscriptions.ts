import { outsideRequests } from '../core/outside-requests.js';
import { keepAlive } from './keep-alive.js';
import type { RedisClient } from './redis-servers.js';
import { afterSilence } from './silence.js';

/** How often it is tried whether messages still arrive. */
const ECHO_INTERVAL_MS = 1_000;

/** Somebody who listens on a channel. */
interface Listener {
  readonly channel: string;
  readonly onMessage: (text: string) => void;
  /** Called whenever messages come again: what was told before is lost. */
  readonly onLive: () => void;
}

/** A listener that was registered. */
export interface Subscription {
  /** Whether messages would be heard now. */
  readonly isLive: boolean;
  /** How often that was not so before. */
  readonly gaps: number;
  close(): void;
}

/**
 * Listens to what processes tell each other, on one connection, which is open while one listens. A
 * connection that only listens does not notice when it has gone deaf, so it is told something every
 * second; when it does not hear that, it is opened anew.
 */
export class Subscriptions {
  readonly #listeners = new Set<Listener>();
  readonly #live = new Set<string>();
  #client: RedisClient | undefined;
  #end: (() => void) | undefined;
  #echoTimer: NodeJS.Timeout | undefined;
  #heardEcho = true;
  #cancelReopen = () => {};
  #gaps = 0;

  constructor(
    private readonly connect: () => RedisClient,
    private readonly publish: (channel: string) => Promise<unknown>,
    /** A channel that nobody else uses. */
    private readonly echoChannel: string,
  ) {}

  listen(
    channel: string,
    onMessage: (text: string) => void,
    onLive: () => void = () => undefined,
  ): Subscription {
    const listener = { channel, onMessage, onLive };
    this.#listeners.add(listener);
    if (this.#client) void this.#subscribe(this.#client, channel);
    else this.#open();
    const isLive = () => this.#live.has(channel);
    const gaps = () => this.#gaps;
    return {
      get isLive() {
        return isLive();
      },
      get gaps() {
        return gaps();
      },
      close: () => {
        this.#listeners.delete(listener);
        if (this.#listeners.size === 0) this.close();
      },
    };
  }

  close(): void {
    clearInterval(this.#echoTimer);
    this.#echoTimer = undefined;
    this.#cancelReopen();
    this.#disconnect();
  }

  #open(): void {
    const client = this.connect();
    this.#client = client;
    this.#end = keepAlive(client);
    // Whether Redis is well is found out and told elsewhere; ioredis connects again by itself.
    client.on('error', () => undefined);
    client.on('message', (channel: string, text: string) => this.#hear(channel, text));
    client.on('close', () => this.#miss());
    client.on('ready', () => {
      for (const channel of this.#channels()) void this.#subscribe(client, channel);
    });
    this.#heardEcho = true;
    this.#echoTimer ??= outsideRequests(() =>
      setInterval(() => this.#echo(), ECHO_INTERVAL_MS).unref(),
    );
  }

  #disconnect(): void {
    this.#end?.();
    this.#client = undefined;
    this.#live.clear();
  }

  #channels(): Set<string> {
    return new Set([this.echoChannel, ...[...this.#listeners].map(({ channel }) => channel)]);
  }

  async #subscribe(client: RedisClient, channel: string): Promise<void> {
    try {
      await client.subscribe(channel);
    } catch {
      // Not allowed, not connected yet, or gone again: whoever needs to know asks.
      return;
    }
    if (client !== this.#client) return;
    this.#live.add(channel);
    for (const listener of this.#on(channel)) attempt(listener.onLive);
  }

  #hear(channel: string, text: string): void {
    if (channel === this.echoChannel) this.#heardEcho = true;
    for (const listener of this.#on(channel)) attempt(() => listener.onMessage(text));
  }

  #miss(): void {
    this.#live.clear();
    this.#gaps++;
  }

  #echo(): void {
    if (!this.#live.has(this.echoChannel)) return;
    if (!this.#heardEcho) {
      // The echo may wait to be read, behind whatever keeps this process busy.
      this.#cancelReopen();
      this.#cancelReopen = afterSilence(0, () => this.#reopenIfDeaf());
      return;
    }
    this.#heardEcho = false;
    // One that could not be sent cannot be heard; that says nothing about listening.
    this.publish(this.echoChannel).catch(() => (this.#heardEcho = true));
  }

  #reopenIfDeaf(): void {
    if (this.#heardEcho || !this.#client) return;
    this.#miss();
    this.#disconnect();
    this.#open();
  }

  #on(channel: string): Listener[] {
    return [...this.#listeners].filter((listener) => listener.channel === channel);
  }
}

/** Nobody stands behind a message who could handle what a listener throws. */
function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // The next message finds the listener as it was.
  }
}
