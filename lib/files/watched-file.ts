import type { FSWatcher } from 'node:fs';
import { unwatchFile, watch, watchFile } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';

/** How files of one kind are read, and what they say. Both throw for a file that cannot be used. */
export interface FileFormat<Content> {
  /** The text of the file, whatever it says. Fails with the same message while the reason is the same. */
  read(path: string): Promise<string>;
  /** What a text says; the path is for messages. */
  parse(text: string, path: string): Content;
}

/** Hears about the file, once for each new text. */
export interface WatchedFileListener<Content> {
  /** Another content than that in force. What it throws goes to `onError`. */
  onChange(content: Content): void;
  /** The file cannot be used. The content in force stays. */
  onError(error: Error): void;
}

/** How soon a change is noticed. */
export interface WatchedFileOptions {
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
 * A file that is read again when it changes. The folder is looked at, so that a file that is replaced
 * is noticed as well as one that is written to, and the links that Kubernetes swaps. Keeps no process
 * alive.
 */
export class WatchedFile<Content> {
  readonly #debounceMs: number;
  readonly #pollMs: number;
  /** The text of the content in force. */
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
    private readonly format: FileFormat<Content>,
    private readonly listener: WatchedFileListener<Content>,
    { debounceMs = 50, pollMs = 1_000 }: WatchedFileOptions = {},
  ) {
    this.#debounceMs = debounceMs;
    this.#pollMs = pollMs;
  }

  /**
   * Starts to watch and reads the file for the first time. Throws when that cannot be used: there is
   * no content yet that could stay in force.
   */
  async start(): Promise<Content> {
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

  async #readFirst(): Promise<Content> {
    const text = await this.format.read(this.path);
    const content = this.format.parse(text, this.path);
    this.#inForce = text;
    this.#judged = text;
    // Behind a link, the file may change where nobody watches.
    if ((await realpath(this.path)) !== resolve(this.path)) this.#poll();
    return content;
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
    const found = await this.format.read(this.path).catch((error: Error) => error);
    const judged = typeof found === 'string' ? found : found.message;
    if (this.#closed || judged === this.#judged) return;
    this.#judged = judged;
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
    const content = this.format.parse(text, this.path);
    if (text === this.#inForce) return;
    this.listener.onChange(content);
    this.#inForce = text;
  }
}
