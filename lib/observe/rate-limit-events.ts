import type { Channel } from 'node:diagnostics_channel';
import type { RateLimitMessages } from './channels.js';
import { CHANNELS } from './channels.js';

/** The name of something that is told. */
export type RateLimitEvent = keyof RateLimitMessages;

/** Hears what is told under a name. */
export type RateLimitListener<Name extends RateLimitEvent> = (
  message: RateLimitMessages[Name],
) => void;

/** Something that is told, if anybody listens: here, or on the channel that all applications share. */
export class Topic<Message> {
  readonly #listeners = new Set<(message: Message) => void>();
  #hasListeners = false;

  constructor(private readonly channel: Channel) {}

  /** Whether a message would be heard. Nothing is built when it would not. */
  get isHeard(): boolean {
    return this.#hasListeners || this.channel.hasSubscribers;
  }

  publish(message: Message): void {
    if (this.channel.hasSubscribers) this.channel.publish(message);
    for (const listener of this.#listeners) tell(() => listener(message));
  }

  add(listener: (message: Message) => void): void {
    this.#listeners.add(listener);
    this.#hasListeners = true;
  }

  delete(listener: (message: Message) => void): void {
    this.#listeners.delete(listener);
    this.#hasListeners = this.#listeners.size > 0;
  }
}

/**
 * Tells what happens in one application:
 *
 * ```ts
 * events.on('cooldown', ({ domain, to }) => pager.notify(`${domain} is ${to}`));
 * ```
 *
 * The same messages are published on `node:diagnostics_channel`, as `nestjs-floodgate:cooldown`.
 */
export class RateLimitEvents {
  /** For those who tell. */
  readonly topics: { readonly [Name in RateLimitEvent]: Topic<RateLimitMessages[Name]> } = {
    decision: new Topic(CHANNELS.decision),
    wait: new Topic(CHANNELS.wait),
    lease: new Topic(CHANNELS.lease),
    store: new Topic(CHANNELS.store),
    config: new Topic(CHANNELS.config),
    cooldown: new Topic(CHANNELS.cooldown),
  };

  /** Calls the listener with every message from now on. Returns the function that stops it. */
  on<Name extends RateLimitEvent>(name: Name, listener: RateLimitListener<Name>): () => void {
    this.topics[name].add(listener);
    return () => this.off(name, listener);
  }

  /** Stops calling the listener. */
  off<Name extends RateLimitEvent>(name: Name, listener: RateLimitListener<Name>): void {
    this.topics[name].delete(listener);
  }
}

/** A listener that throws must not undo what happened, nor cost a caller the answer that it got. */
function tell(call: () => void): void {
  try {
    call();
  } catch (error) {
    process.emitWarning(`A listener of RateLimitEvents threw: ${String(error)}`);
  }
}
