import type { RedisClient } from './redis-servers.js';
import { answerIn } from './slot-errors.js';

const NO_CONNECTION = 'there is no connection';

/**
 * Remembers why a client could not connect. Also keeps ioredis from printing every attempt, which it
 * does when nobody listens.
 */
export class LastError {
  #reason = NO_CONNECTION;

  constructor(client: RedisClient) {
    client.on('error', (error: unknown) => {
      this.#reason = reasonOf(error);
    });
  }

  get reason(): string {
    return this.#reason;
  }
}

/**
 * What went wrong in a few words, for logs: the code of the system or of Redis and what follows up to
 * the first quotation mark or colon, behind which keys, names and scripts may come.
 */
export function reasonOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  const message = answerIn(error);
  if (typeof code === 'string') return code;
  if (/^(Stream isn't writeable|Connection is closed|Cluster isn't ready)/.test(message)) {
    return NO_CONNECTION;
  }
  return message.split(/[:"]|\s'/)[0]!.slice(0, 80);
}
