import type { FSWatcher } from 'node:fs';
import { unwatchFile, watch, watchFile } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { parseOutboundFile, readOutboundText } from './outbound-file.js';
import type { OutboundRulesOptions } from './outbound-rules.js';

/** Hears about the file, once for each new content. */
export interface OutboundFileListener {
  /** Other rules than those in force. What it throws goes to `onError`. */
  onChange(options: OutboundRulesOptions): void;
  /** The file cannot be used. The rules in force stay. */
  onError(error: Error): void;
}

/** How soon a change is noticed. */
export interface OutboundFileWatcherOptions {
  /**
   * Milliseconds of quiet after which a changed file is read: it may be written in pieces.
   * @default 50
   */
  readonly debounceMs?: number;
  /**
   * Milliseconds between two looks at the file, where changes are not told by the system.
   * @default 1_000
   */
  readonly pollMs?: number;
}

/**
 * Watches a file of rules. It looks at the folder, so that a file that is replaced is noticed as well
 * as one that is written to, and the links that Kubernetes swaps. Keeps no process alive.
 */
export class OutboundFileWatcher {
  readonly #debounceMs: number;
  readonly #pollMs: number;
  /** The text of the rules in force. */
  #inForce: string | undefined;
  /** The text that was judged last, or why there was none. */
  #judged: string | undefined;
  #folder: FSWatcher | undefined;
  #timer: NodeJS.Timeout | undefined;
  #polls = false;
  #closed = false;
  /** One look after another, or an old text might come last. */
  #looks: Promise<unknown> = Promise.resolve();
  readonly #soon = () => this.#lookSoon();

  constructor(
    readonly path: string,
    private readonly listener: OutboundFileListener,
    { debounceMs = 50, pollMs = 1_000 }: OutboundFileWatcherOptions = {},
  ) {
    this.#debounceMs = debounceMs;
    this.#pollMs = pollMs;
  }

  /**
   * Starts to watch and reads the file for the first time. Throws when that cannot be used: there are
   * no rules yet that could stay in force.
   */
  async start(): Promise<OutboundRulesOptions> {
    this.#watchFolder();
    const first = this.#readFirst();
    this.#looks = first.catch(() => undefined);
    try {
      return await first;
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Stops watching; the listener hears nothing more. */
  close(): void {
    this.#closed = true;
    this.#folder?.close();
    clearTimeout(this.#timer);
    unwatchFile(this.path, this.#soon);
  }

  async #readFirst(): Promise<OutboundRulesOptions> {
    const text = await readOutboundText(this.path);
    const options = parseOutboundFile(text, this.path);
    this.#inForce = text;
    this.#judged = text;
    // Behind a link, the file may change where nobody watches.
    if ((await realpath(this.path)) !== resolve(this.path)) this.#poll();
    return options;
  }

  #watchFolder(): void {
    try {
      this.#folder = watch(dirname(this.path), { persistent: false }, (_event, name) => {
        if (this.#concerns(name)) this.#lookSoon();
      });
      this.#folder.on('error', () => this.#poll());
    } catch {
      this.#poll();
    }
  }

  /** Not every system tells a name, and Kubernetes swaps a link called "..data". */
  #concerns(name: string | null): boolean {
    return name === null || name === basename(this.path) || name.startsWith('..');
  }

  #poll(): void {
    if (this.#polls || this.#closed) return;
    this.#polls = true;
    watchFile(this.path, { interval: this.#pollMs, persistent: false }, this.#soon);
    // What changed until now is not told.
    this.#lookSoon();
  }

  #lookSoon(): void {
    if (this.#closed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#looks = this.#looks.then(() => this.#look());
    }, this.#debounceMs).unref();
  }

  async #look(): Promise<void> {
    const found = await readOutboundText(this.path).catch((error: Error) => error);
    const content = typeof found === 'string' ? found : found.message;
    if (this.#closed || content === this.#judged) return;
    this.#judged = content;
    try {
      if (typeof found !== 'string') throw this.#withoutFile(found);
      this.#accept(found);
    } catch (error) {
      this.listener.onError(error as Error);
    }
  }

  /** The folder itself may be gone, and its successor is not watched. */
  #withoutFile(reason: Error): Error {
    this.#poll();
    return reason;
  }

  #accept(text: string): void {
    const options = parseOutboundFile(text, this.path);
    if (text === this.#inForce) return;
    this.listener.onChange(options);
    this.#inForce = text;
  }
}
