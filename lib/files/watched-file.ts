import type { FSWatcher } from 'node:fs';
import { unwatchFile, watch, watchFile } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
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
   * How long a file must have stayed the same before it is read, in milliseconds: it may be written
   * in pieces, each of which could be read as a whole. Every write begins the time anew.
   * @default 300
   */
  readonly quietMs?: number;
  /**
   * How long a file that never is quiet is waited for, in milliseconds. Then it is read as it is.
   * @default 5_000
   */
  readonly maxUnrestMs?: number;
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
  readonly #quietMs: number;
  readonly #maxUnrestMs: number;
  readonly #pollMs: number;
  /** The text of the content in force. */
  #inForce: string | undefined;
  /** The text that was judged last, or why there was none. */
  #judged: string | undefined;
  #folder: FSWatcher | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** What the file was like when it was last looked at, since it is not quiet. */
  #seen: string | undefined;
  /** When it began not to be quiet. */
  #unrestAt: number | undefined;
  #polls = false;
  #closed = false;
  /** One look after another, or an old text might come last. */
  #looks: Promise<unknown> = Promise.resolve();
  readonly #soon = () => this.#lookSoon();

  constructor(
    readonly path: string,
    private readonly format: FileFormat<Content>,
    private readonly listener: WatchedFileListener<Content>,
    { quietMs = 300, maxUnrestMs = 5_000, pollMs = 1_000 }: WatchedFileOptions = {},
  ) {
    this.#quietMs = quietMs;
    this.#maxUnrestMs = maxUnrestMs;
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

  /** Begins the quiet time anew. */
  #lookSoon(): void {
    this.#seen = undefined;
    this.#wait();
  }

  /** Half of the quiet time, twice: not every write is told, so the file has to look the same, too. */
  #wait(): void {
    if (this.#closed) return;
    this.#unrestAt ??= performance.now();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => {
        this.#looks = this.#looks.then(() => this.#lookIfQuiet());
      },
      Math.min(this.#quietMs / 2, this.#unrestLeftMs()),
    ).unref();
  }

  async #lookIfQuiet(): Promise<void> {
    const before = this.#seen;
    const seen = await likenessOf(this.path);
    if (this.#unrestLeftMs() > 0 && (before === undefined || seen !== before))
      return this.#waitOn(seen);
    const found = await this.format.read(this.path).catch((error: Error) => error);
    if (this.#unrestLeftMs() > 0 && (await likenessOf(this.path)) !== seen)
      return this.#waitOn(seen);
    this.#seen = undefined;
    this.#unrestAt = undefined;
    this.#judge(found);
  }

  /** A write that was told meanwhile has begun the time anew. */
  #waitOn(seen: string): void {
    this.#seen = seen;
    this.#wait();
  }

  /** How long it may go on not being quiet. */
  #unrestLeftMs(): number {
    const nowMs = performance.now();
    return Math.max(0, (this.#unrestAt ?? nowMs) + this.#maxUnrestMs - nowMs);
  }

  #judge(found: string | Error): void {
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

/** What changes when a file is written or replaced. */
async function likenessOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = await stat(path);
    return [dev, ino, size, mtimeMs, ctimeMs].join(' ');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown';
  }
}
