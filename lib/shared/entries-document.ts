import { InvalidOptionError } from '../core/errors.js';
import { NewerFormatError } from './shared-document.js';

/** The format that this version writes. */
const FORMAT = 1;
const MAX_NOTE_LENGTH = 500;

/** Why something was changed, and for how long. */
export interface ChangeNote {
  /**
   * Why it was changed, at most 500 characters.
   * @default none
   */
  readonly note?: string;
  /**
   * When the change ends and the code counts again, in milliseconds since 1970.
   * @default never
   */
  readonly until?: number;
}

/** A value that was changed while running; null if what the code names was removed. */
export interface SharedEntry<T> extends ChangeNote {
  /** The value that was set; null if the name was removed. */
  readonly value: T | null;
}

/** An entry as it is stored. Fields that only newer versions know are kept. */
export interface StoredEntry extends ChangeNote {
  readonly value: unknown;
}

/** The content of a document of entries. */
export interface StoredEntries {
  readonly format: number;
  readonly entries: Readonly<Record<string, StoredEntry>>;
}

/** Reads a document of entries. The values are checked one by one, later. */
export function parseEntries(text: string): StoredEntries {
  const stored = JSON.parse(text) as Partial<StoredEntries> | null;
  if (typeof stored?.format === 'number' && stored.format > FORMAT) throw new NewerFormatError();
  if (stored?.format !== FORMAT || !isRecord(stored.entries)) {
    throw new InvalidOptionError('the document', `{ format: ${FORMAT}, entries: {} }`, stored);
  }
  for (const entry of Object.values(stored.entries)) checkEntry(entry);
  return stored as StoredEntries;
}

/** Refuses a note that is too long, and an end that is no time. */
export function checkNote({ note, until }: ChangeNote): void {
  if (note !== undefined && !(typeof note === 'string' && note.length <= MAX_NOTE_LENGTH)) {
    throw new InvalidOptionError('note', `a text of at most ${MAX_NOTE_LENGTH} characters`, note);
  }
  if (until !== undefined && !Number.isSafeInteger(until)) {
    throw new InvalidOptionError('until', 'a whole number of milliseconds since 1970', until);
  }
}

function checkEntry(entry: unknown): void {
  if (isRecord(entry) && 'value' in entry) return;
  throw new InvalidOptionError('an entry', 'an object with a value', entry);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
