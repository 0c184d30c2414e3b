import { keepAlive } from './keep-alive.js';
import type { RedisClient } from './redis-servers.js';

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

/** Listens to what processes tell each other, on one connection, which is open while one listens. */
export class Subscriptions {
  readonly #listeners = new Set<Listener>();
  readonly #live = new Set<string>();
  #client: RedisClient | undefined;
  #end: (() => void) | undefined;
  #gaps = 0;

  constructor(private readonly connect: () => RedisClient) {}

  listen(
    channel: string,
    onMessage: (text: string) => void,
    onLive: () => void = () => undefined,
  ): Subscription {
    const listener = { channel, onMessage, onLive };
    this.#listeners.add(listener);
    if (this.#client) void this.#subscribe(this.#client, channel);
    else this.#client = this.#open();
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
    this.#end?.();
    this.#client = undefined;
    this.#live.clear();
  }

  #open(): RedisClient {
    const client = this.connect();
    this.#end = keepAlive(client);
    // Whether Redis is well is found out and told elsewhere; ioredis connects again by itself.
    client.on('error', () => undefined);
    client.on('message', (channel: string, text: string) => {
      for (const listener of this.#on(channel)) listener.onMessage(text);
    });
    client.on('close', () => {
      this.#live.clear();
      this.#gaps++;
    });
    client.on('ready', () => {
      const channels = new Set([...this.#listeners].map(({ channel }) => channel));
      for (const channel of channels) void this.#subscribe(client, channel);
    });
    return client;
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
    for (const listener of this.#on(channel)) listener.onLive();
  }

  #on(channel: string): Listener[] {
    return [...this.#listeners].filter((listener) => listener.channel === channel);
  }
}
