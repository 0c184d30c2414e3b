import type { Redis } from 'ioredis';
import { keepAlive } from './keep-alive.js';
import { LastError } from './last-error.js';
import type { RedisServers } from './redis-servers.js';

const ONLY_SLOT = 0;

/** One server, alone or found through sentinels. */
export class SingleServer implements RedisServers {
  readonly #lastError: LastError;
  readonly #connectListeners: ((node: Redis) => void)[] = [];
  readonly close: () => void;
  #isDropping = false;

  constructor(readonly client: Redis) {
    this.#lastError = new LastError(client);
    this.close = keepAlive(client);
    client.on('close', () => (this.#isDropping = false));
    client.on('ready', () => {
      for (const listener of this.#connectListeners) listener(client);
    });
  }

  masters(): readonly Redis[] {
    return [this.client];
  }

  slotOf(): number {
    return ONLY_SLOT;
  }

  nodeOf(): string {
    return '';
  }

  whyNotReady(): string | undefined {
    return this.client.status === 'ready' ? undefined : this.#lastError.reason;
  }

  reconnect(): void {
    // All whose answers were on this socket ask for it; each time would cost a timer and a listener.
    if (this.#isDropping) return;
    this.#isDropping = this.client.status === 'ready';
    this.client.disconnect(true);
  }

  subscriber(): Redis {
    // Subscribed to anew by us: what ioredis does by itself fails unheard when it is cut off again.
    return this.client.duplicate({ autoResubscribe: false });
  }

  onConnect(listener: (node: Redis) => void): void {
    this.#connectListeners.push(listener);
    if (this.client.status === 'ready') listener(this.client);
  }

  load(script: string): void {
    this.client.script('LOAD', script).catch(() => undefined);
  }
}
