import type { Awaitable } from '../core/awaitable.js';
import type { DocumentStore, StoredDocument } from '../core/document-store.js';
import { RateLimitError } from '../core/errors.js';
import { outsideRequests } from '../core/outside-requests.js';

/** The largest document, in bytes. */
export const MAX_DOCUMENT_BYTES = 4 * 1_024 * 1_024;
/** How often a change is tried while other processes change the same document. */
const MAX_TRIES = 20;
/** Amendments that are kept while the store does not answer; the oldest goes first. */
const MAX_PENDING = 1_000;
/** Changes are published; this also finds those that were not, and keeps the document from expiring. */
const READ_AGAIN_MS = 60_000;
/** How soon the document is read again after the store did not answer. */
const RETRY_MS = 1_000;

/** What a change makes of the value; undefined when it changes nothing. */
export type Change<T> = (value: T) => T | undefined;

/** What an amendment makes of the value. */
export type Amendment<T> = (value: T) => T;

/** What a document is, and who is notified. */
export interface SharedDocumentOptions<T> {
  /** Names the document in the store. */
  readonly name: string;
  /** The value while there is no document. */
  readonly empty: T;
  /** Reads what `JSON.stringify` wrote, in this or another version. Throws if it cannot. */
  readonly parse: (text: string) => T;
  /** Called with every new value, in the order of versions. A change is done when this is. */
  readonly onChange: (value: T) => Awaitable<void>;
  /** Called once for each version that cannot be read. The value stays as it was. */
  readonly onUnreadable: (error: Error) => void;
  /** Makes the error of a change that cannot be stored. */
  readonly unavailable: (reason: string) => Error;
}

/** A document was written by a newer version of this package: it must not be overwritten. */
export class NewerFormatError extends RateLimitError {
  override readonly name = 'NewerFormatError';

  constructor() {
    super(
      'INVALID_OPTION',
      'it was written by a newer version of nestjs-floodgate. Update this process.',
    );
  }
}

/**
 * A value that all processes share and change while running. It is kept in the store, so that it
 * survives restarts. Reads and changes take turns, so that every process applies changes in the order
 * of their versions. While the store does not answer, the last value stays.
 */
export class SharedDocument<T> {
  #value: T;
  #version = 0;
  /** Amendments of this process that the store does not know yet. */
  readonly #pending: Amendment<T>[] = [];
  #lastTurn: Promise<unknown> = Promise.resolve();
  #isReadQueued = false;
  #reportedVersion = 0;
  #unwatch: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly store: DocumentStore,
    private readonly options: SharedDocumentOptions<T>,
  ) {
    this.#value = options.empty;
  }

  /** The value that counts in this process. */
  get value(): T {
    return this.#value;
  }

  /** Reads the document and follows its changes from now on. */
  async start(): Promise<void> {
    this.#unwatch = this.store.watchDocument(this.options.name, () => void this.#readInTurn());
    await this.#readInTurn();
  }

  /** Stops following changes. */
  stop(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
    clearTimeout(this.#timer);
  }

  /**
   * Changes the value for all processes. Concurrent changes are repeated on top of each other, so that
   * none is lost. Returns false if the change changes nothing; throws if it cannot be stored.
   */
  change(change: Change<T>): Promise<boolean> {
    return this.#inTurn(() => this.#change(change));
  }

  /**
   * Changes the value of this process at once, and that of the others as soon as the store answers.
   * `begin` is called when all earlier changes are done; `onChange` is called in any case.
   */
  amend(begin: () => Amendment<T>): Promise<void> {
    return this.#inTurn(async () => {
      const amendment = begin();
      this.#pending.push(amendment);
      if (this.#pending.length > MAX_PENDING) this.#pending.shift();
      await this.#apply(this.#version, amendment(this.#value));
      await this.#read();
    });
  }

  #inTurn<R>(work: () => Promise<R>): Promise<R> {
    const turn = this.#lastTurn.then(work);
    this.#lastTurn = turn.catch(() => undefined);
    return turn;
  }

  /** One queued read is enough for any number of messages. */
  async #readInTurn(): Promise<void> {
    if (this.#isReadQueued) return;
    this.#isReadQueued = true;
    await this.#inTurn(() => {
      this.#isReadQueued = false;
      return this.#read();
    });
  }

  async #change(change: Change<T>): Promise<boolean> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const stored = await this.#fetch();
      const next = change(this.#amended(this.#baseIn(stored)));
      if (next === undefined) return false;
      if (await this.#write(stored.version, next)) return true;
    }
    throw this.options.unavailable('other processes change it at the same time');
  }

  /** Never throws: what cannot be read now is read later. */
  async #read(): Promise<void> {
    let delayMs = RETRY_MS;
    try {
      if (await this.#takeOver(await this.#fetch())) delayMs = READ_AGAIN_MS;
    } catch {
      // The store does not answer: the value stays.
    }
    this.#readAgainIn(delayMs);
  }

  #readAgainIn(delayMs: number): void {
    clearTimeout(this.#timer);
    if (!this.#unwatch) return;
    const read = () => void this.#readInTurn();
    this.#timer = outsideRequests(() => setTimeout(read, delayMs).unref());
  }

  /** Returns false if another process has changed the document meanwhile. */
  async #takeOver(stored: StoredDocument): Promise<boolean> {
    const content = this.#parse(stored);
    if (content instanceof Error) {
      this.#report(stored.version, content);
      return true;
    }
    const known = this.#isForgotten(stored) ? this.#value : content;
    const wanted = this.#amended(known);
    if (!areSame(wanted, content)) return this.#write(stored.version, wanted);
    this.#pending.length = 0;
    // A store that has lost the document begins to count anew: the same version may be another text.
    const isKnown = stored.version === this.#version && areSame(wanted, this.#value);
    if (!isKnown) await this.#apply(stored.version, wanted);
    return true;
  }

  /** What a change is made to. Content that nobody can read is replaced. */
  #baseIn(stored: StoredDocument): T {
    const content = this.#parse(stored);
    if (content instanceof NewerFormatError) throw this.options.unavailable(content.message);
    return content instanceof Error || this.#isForgotten(stored) ? this.#value : content;
  }

  #isForgotten({ version }: StoredDocument): boolean {
    return version === 0 && this.#version > 0;
  }

  #amended(value: T): T {
    return this.#pending.reduce((amended, amendment) => amendment(amended), value);
  }

  #parse({ version, text }: StoredDocument): T | Error {
    if (version === 0) return this.options.empty;
    try {
      checkSize(text);
      return this.options.parse(text);
    } catch (error) {
      return error as Error;
    }
  }

  #report(version: number, error: Error): void {
    if (version === this.#reportedVersion) return;
    this.#reportedVersion = version;
    this.options.onUnreadable(error);
  }

  /** Returns false if another process was faster. */
  async #write(version: number, value: T): Promise<boolean> {
    const text = JSON.stringify(value);
    checkSize(text);
    const { name } = this.options;
    const written = await this.#answered(() => this.store.replaceDocument(name, version, text));
    if (!written.replaced) return false;
    this.#pending.length = 0;
    await this.#apply(written.version, value);
    return true;
  }

  #fetch(): Promise<StoredDocument> {
    return this.#answered(() => this.store.readDocument(this.options.name));
  }

  async #apply(version: number, value: T): Promise<void> {
    this.#version = version;
    this.#value = value;
    await this.options.onChange(value);
  }

  async #answered<R>(ask: () => Awaitable<R>): Promise<R> {
    try {
      return await ask();
    } catch (error) {
      throw this.options.unavailable((error as Error).message);
    }
  }
}

function areSame(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

function checkSize(text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_DOCUMENT_BYTES) return;
  throw new RateLimitError(
    'INVALID_OPTION',
    `A shared document may have at most ${MAX_DOCUMENT_BYTES} bytes, got ${bytes}.`,
  );
}
