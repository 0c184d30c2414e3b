import type { Channel } from 'node:diagnostics_channel';
import type { RateLimitMessages } from './channels.js';
import { CHANNELS } from './channels.js';

/** Something that is told, if anybody listens: here, or on the channel that all applications share. */
export class Topic<Message> {
  readonly #listeners = new Set<(message: Message) => void>();

  constructor(private readonly channel: Channel) {}

  /** Whether a message would be heard. Nothing is built when it would not. */
  get isHeard(): boolean {
    return this.channel.hasSubscribers;
  }

  publish(message: Message): void {
    this.channel.publish(message);
    for (const listener of this.#listeners) tell(() => listener(message));
  }

  /** Listeners of one application keep the channel open, so that there is one thing to look at. */
  add(listener: (message: Message) => void): void {
    if (this.#listeners.size === 0) this.channel.subscribe(keepOpen);
    this.#listeners.add(listener);
  }

  delete(listener: (message: Message) => void): void {
    const had = this.#listeners.delete(listener);
    if (had && this.#listeners.size === 0) this.channel.unsubscribe(keepOpen);
  }
}

function keepOpen(): void {}

/** What one application tells, by name. */
export type Topics = { readonly [Name in keyof RateLimitMessages]: Topic<RateLimitMessages[Name]> };

export function newTopics(): Topics {
  return {
    decision: new Topic(CHANNELS.decision),
    wait: new Topic(CHANNELS.wait),
    lease: new Topic(CHANNELS.lease),
    store: new Topic(CHANNELS.store),
    config: new Topic(CHANNELS.config),
    cooldown: new Topic(CHANNELS.cooldown),
  };
}

/** A listener that throws must not undo what happened, nor cost a caller the answer that it got. */
function tell(call: () => void): void {
  try {
    call();
  } catch (error) {
    process.emitWarning(`A listener of RateLimitEvents threw: ${String(error)}`);
  }
}
