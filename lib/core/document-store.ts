import type { Awaitable } from './awaitable.js';
import { RateLimitError } from './errors.js';

/** A text that all processes share, such as settings that were changed while running. */
export interface StoredDocument {
  /** Grows by one with every change; 0 while there is no such document. */
  readonly version: number;
  /** The content; '' while there is no such document. */
  readonly text: string;
}

/** The document as it is after an attempt to replace it. */
export interface ReplacedDocument extends StoredDocument {
  /** Whether it was replaced. If not, it had another version, which is the one returned. */
  readonly replaced: boolean;
}

/** Called when a document may have changed: it was replaced, or messages may have been missed. */
export type DocumentListener = () => void;

/** Keeps texts that all processes share. A store of limits may implement it as well. */
export interface DocumentStore {
  /** Reads a document. */
  readDocument(name: string): Awaitable<StoredDocument>;
  /** Replaces a document if it still has this version (compare and set). */
  replaceDocument(name: string, version: number, text: string): Awaitable<ReplacedDocument>;
  /** Calls the listener whenever the document may have changed. Returns the function that stops it. */
  watchDocument(name: string, listener: DocumentListener): () => void;
}

const METHODS = ['readDocument', 'replaceDocument', 'watchDocument'] as const;

/** Whether a store keeps documents as well. */
export function isDocumentStore(store: object): store is DocumentStore {
  return METHODS.every((name) => typeof (store as Partial<DocumentStore>)[name] === 'function');
}

/** The error for a feature that needs documents, where the store of the application keeps none. */
export function lacksDocuments(feature: string): RateLimitError {
  return new RateLimitError(
    'INVALID_OPTION',
    `${feature} need a store that keeps documents (the port DocumentStore), which the one in the ` +
      `option \`store\` does not: implement ${METHODS.map((name) => `${name}()`).join(', ')} in it, ` +
      'or leave out the option `store`.',
  );
}
