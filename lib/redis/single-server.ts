import type { Redis } from 'ioredis';
import { LastError } from './last-error.js';
import type { RedisServers } from './redis-servers.js';

const ONLY_SLOT = 0;

/** One server, alone or found through sentinels. */
export class SingleServer implements RedisServers {
  readonly #lastError: LastError;

  constructor(readonly client: Redis) {
    this.#lastError = new LastError(client);
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
    this.client.disconnect(true);
  }

  subscriber(): Redis {
    return this.client.duplicate();
  }

  async load(script: string): Promise<void> {
    await this.client.script('LOAD', script);
  }
}
