import type { ConfigMessage } from './channels.js';
import type { Topic } from './topics.js';
import type { ConfigStats } from './stats-snapshot.js';

/** Counts how often limits were changed while running. */
export class ConfigTally {
  #reloads = 0;
  #failedReloads = 0;
  #lastSuccessAtMs: number;

  constructor(
    private readonly topic: Topic<ConfigMessage>,
    private readonly timeMs: () => number,
  ) {
    this.#lastSuccessAtMs = timeMs();
  }

  /** Limits were taken over. */
  changed(source: ConfigMessage['source'], detail: string): void {
    this.#reloads++;
    this.#lastSuccessAtMs = this.timeMs();
    if (this.topic.isHeard) this.topic.publish({ source, result: 'success', detail });
  }

  /** They could not be, and stay as they are. */
  refused(source: ConfigMessage['source'], detail: string): void {
    this.#failedReloads++;
    if (this.topic.isHeard) this.topic.publish({ source, result: 'error', detail });
  }

  snapshot(): ConfigStats {
    const [reloads, failedReloads] = [this.#reloads, this.#failedReloads];
    return { reloads, failedReloads, lastSuccessAtMs: this.#lastSuccessAtMs };
  }
}
