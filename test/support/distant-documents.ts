import type {
  DocumentListener,
  DocumentStore,
  ReplacedDocument,
  StoredDocument,
} from '../../lib/core/document-store.js';
import { DocumentBoard } from '../../lib/memory/document-board.js';

/** Documents out of process: they can be out of reach, be forgotten, and be written by others. */
export class DistantDocuments implements DocumentStore {
  isAway = false;
  /** Whether messages are lost. */
  isSilent = false;
  /** Called before each replacement, for changes by others in between. */
  beforeReplacing: () => void = () => undefined;
  reads = 0;
  #board = new DocumentBoard();
  readonly #listeners = new Set<DocumentListener>();

  readDocument(name: string): StoredDocument {
    this.reads++;
    return this.#reached().readDocument(name);
  }

  replaceDocument(name: string, version: number, text: string): ReplacedDocument {
    this.beforeReplacing();
    const replaced = this.#reached().replaceDocument(name, version, text);
    if (replaced.replaced && !this.isSilent) this.publish();
    return replaced;
  }

  watchDocument(_name: string, listener: DocumentListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get watchers(): number {
    return this.#listeners.size;
  }

  publish(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Writes what another process, or somebody else, might write. */
  write(name: string, text: string): void {
    this.#board.replaceDocument(name, this.#board.readDocument(name).version, text);
  }

  textOf(name: string): string {
    return this.#board.readDocument(name).text;
  }

  forget(): void {
    this.#board = new DocumentBoard();
  }

  #reached(): DocumentBoard {
    if (this.isAway) throw new Error('Redis does not answer.');
    return this.#board;
  }
}

/** Until everything that was begun is done. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}
