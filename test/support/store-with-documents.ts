import type {
  DocumentListener,
  DocumentStore,
  ReplacedDocument,
  StoredDocument,
} from '../../lib/core/document-store.js';
import type { LimitStore } from '../../lib/core/limit-store.js';
import { StoreAround } from '../../lib/core/store-around.js';
import { DocumentBoard } from '../../lib/memory/document-board.js';

/** A store of a user's own, around another one, that keeps documents as well. */
export abstract class StoreWithDocuments extends StoreAround implements DocumentStore {
  readonly #board = new DocumentBoard();

  constructor(store: LimitStore) {
    super(store);
  }

  readDocument(name: string): StoredDocument {
    return this.#board.readDocument(name);
  }

  replaceDocument(name: string, version: number, text: string): ReplacedDocument {
    return this.#board.replaceDocument(name, version, text);
  }

  watchDocument(name: string, listener: DocumentListener): () => void {
    return this.#board.watchDocument(name, listener);
  }
}
