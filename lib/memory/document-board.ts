import type {
  DocumentListener,
  DocumentStore,
  ReplacedDocument,
  StoredDocument,
} from '../core/document-store.js';

const NONE: StoredDocument = Object.freeze({ version: 0, text: '' });
/** Documents at most. The features of this package use a handful of fixed names. */
const MAX_DOCUMENTS = 1_000;

/** Documents within this process. */
export class DocumentBoard implements DocumentStore {
  readonly #documents = new Map<string, StoredDocument>();
  readonly #listeners = new Map<string, Set<DocumentListener>>();

  readDocument(name: string): StoredDocument {
    return this.#documents.get(name) ?? NONE;
  }

  replaceDocument(name: string, version: number, text: string): ReplacedDocument {
    const before = this.readDocument(name);
    if (before.version !== version) return { ...before, replaced: false };
    if (version === 0 && this.#documents.size >= MAX_DOCUMENTS) {
      throw new Error(`There are ${MAX_DOCUMENTS} documents already.`);
    }
    const document = { version: version + 1, text };
    this.#documents.set(name, document);
    for (const listener of [...(this.#listeners.get(name) ?? [])]) listener();
    return { ...document, replaced: true };
  }

  watchDocument(name: string, listener: DocumentListener): () => void {
    // A registration of its own: the same function may be given twice.
    const registered = () => listener();
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(registered));
    return () => {
      listeners.delete(registered);
      if (listeners.size === 0) this.#listeners.delete(name);
    };
  }
}
