import type { GateListener, GateWatch } from '../core/gate.js';
import { decodeGateNews } from './gate-message.js';
import type { RedisClient } from './redis-servers.js';

/** Hears what processes tell each other about gates, on a connection of its own while one listens. */
export class GateChannel {
  readonly #listeners = new Set<GateListener>();
  #client: RedisClient | undefined;
  #isLive = false;
  #gaps = 0;

  constructor(
    private readonly connect: () => RedisClient,
    private readonly channel: string,
  ) {}

  watch(listener: GateListener): GateWatch {
    this.#listeners.add(listener);
    this.#client ??= this.#open();
    const isLive = () => this.#isLive;
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
    this.#client?.disconnect();
    this.#client = undefined;
    this.#isLive = false;
  }

  #open(): RedisClient {
    const client = this.connect();
    // Whether Redis is well is found out and told elsewhere; ioredis connects again by itself.
    client.on('error', () => undefined);
    client.on('message', (_channel: string, text: string) => this.#tell(text));
    client.on('close', () => {
      this.#isLive = false;
      this.#gaps++;
    });
    client.on('ready', () => void this.#subscribe(client));
    return client;
  }

  async #subscribe(client: RedisClient): Promise<void> {
    try {
      await client.subscribe(this.channel);
      this.#isLive = client === this.#client;
    } catch {
      // Not allowed, or gone again: whoever books turns asks before each of them then.
      this.#isLive = false;
    }
  }

  #tell(text: string): void {
    const news = decodeGateNews(text);
    if (!news) return;
    for (const listener of this.#listeners) listener(news.key, news.state);
  }
}
