import type { RateLimitMessages } from './channels.js';
import type { Topics } from './topics.js';

/** The name of something that is told. */
export type RateLimitEvent = keyof RateLimitMessages;

/** Hears what is told under a name. */
export type RateLimitListener<Name extends RateLimitEvent> = (
  message: RateLimitMessages[Name],
) => void;

/**
 * Tells what happens in one application, as it happens.
 *
 * ```ts
 * events.on('cooldown', ({ domain, to }) => pager.notify(`${domain} is ${to}`));
 * ```
 *
 * The same messages are published on `node:diagnostics_channel`, as `nestjs-floodgate:cooldown`.
 */
export class RateLimitEvents {
  readonly #topics: Topics;

  /** @internal Made by the module. */
  constructor(topics: Topics) {
    this.#topics = topics;
  }

  /** Calls the listener with every message from now on. Returns the function that stops it. */
  on<Name extends RateLimitEvent>(name: Name, listener: RateLimitListener<Name>): () => void {
    this.#topics[name].add(listener);
    return () => this.off(name, listener);
  }

  /** Stops calling the listener. */
  off<Name extends RateLimitEvent>(name: Name, listener: RateLimitListener<Name>): void {
    this.#topics[name].delete(listener);
  }
}
