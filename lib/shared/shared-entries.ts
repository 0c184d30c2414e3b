import type { DocumentStore } from '../core/document-store.js';
import { RateLimitError } from '../core/errors.js';
import { outsideRequests } from '../core/outside-requests.js';
import type { ChangeNote, SharedEntry, StoredEntries, StoredEntry } from './entries-document.js';
import { checkNote, parseEntries } from './entries-document.js';
import { SharedDocument } from './shared-document.js';

/** Entries of a document at most. */
const MAX_ENTRIES = 10_000;
/** The longest that a timer can run. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** What the entries are, and who is notified. */
export interface SharedEntriesOptions<T> {
  /** Names the document in the store. */
  readonly name: string;
  /** What the entries are called in messages: `plans`. */
  readonly what: string;
  /** Checks the value of an entry and returns it. Throws if it cannot work. */
  readonly check: (name: string, value: unknown) => T;
  /** Called with the names whose entries changed, in the order of the changes. */
  readonly onChange: (names: readonly string[]) => void;
  /** Called when the document or an entry cannot be used: the plan of the code counts instead. */
  readonly onProblem: (message: string) => void;
  /** The time, by which entries end. */
  readonly timeMs?: () => number;
}

/** An entry that counts, and the text that it was read from. */
interface Known<T> {
  readonly text: string;
  readonly entry: SharedEntry<T> | undefined;
}

/**
 * Named values that all processes share, laid over those that the code names: an entry replaces the
 * value of the code or, when its own value is null, removes it.
 */
export class SharedEntries<T> {
  readonly #document: SharedDocument<StoredEntries>;
  readonly #timeMs: () => number;
  #known: ReadonlyMap<string, Known<T>> = new Map();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    store: DocumentStore,
    private readonly options: SharedEntriesOptions<T>,
  ) {
    const { name, what, onProblem, timeMs = Date.now } = options;
    this.#timeMs = timeMs;
    this.#document = new SharedDocument<StoredEntries>(store, {
      name,
      empty: { format: 1, entries: {} },
      parse: parseEntries,
      onChange: (value) => this.#apply(value),
      onUnreadable: ({ message }) =>
        onProblem(
          `The shared ${what} stay as they are, since what is stored is unusable: ${message}`,
        ),
      unavailable: (reason) =>
        new RateLimitError('CHANGE_UNAVAILABLE', `The ${what} could not be changed: ${reason}`),
    });
  }

  /** Reads the entries and follows their changes from now on. */
  start(): Promise<void> {
    return this.#document.start();
  }

  /** Stops following changes. */
  stop(): void {
    this.#document.stop();
    clearTimeout(this.#timer);
  }

  /** The value of an entry: null if it removes that of the code, undefined if there is none. */
  find(name: string): T | null | undefined {
    const entry = this.#known.get(name)?.entry;
    return entry?.value;
  }

  /** The entries that count in this process. */
  entries(): ReadonlyMap<string, SharedEntry<T>> {
    const counting = new Map<string, SharedEntry<T>>();
    for (const [name, { entry }] of this.#known) if (entry) counting.set(name, entry);
    return counting;
  }

  /** Sets an entry in all processes. Returns false if it is there already. */
  async set(name: string, value: T | null, note: ChangeNote = {}): Promise<boolean> {
    if (value !== null) this.options.check(name, value);
    checkNote(note);
    // A copy that the caller cannot change any more, as other processes will read it.
    const entry = JSON.parse(JSON.stringify({ ...note, value })) as StoredEntry;
    return this.#change((entries) =>
      areSame(entries[name], entry) ? undefined : { ...entries, [name]: entry },
    );
  }

  /** Removes an entry, so that the code counts again. Returns false if there is none. */
  async delete(name: string): Promise<boolean> {
    return this.#change((entries) => {
      if (!Object.hasOwn(entries, name)) return undefined;
      return Object.fromEntries(Object.entries(entries).filter(([key]) => key !== name));
    });
  }

  #change(change: (entries: StoredEntries['entries']) => StoredEntries['entries'] | undefined) {
    return this.#document.change((stored) => {
      const nowMs = this.#timeMs();
      const changed = change(stored.entries);
      if (!changed) return undefined;
      const lasting = Object.entries(changed).filter(([, entry]) => !hasEnded(entry, nowMs));
      if (lasting.length > MAX_ENTRIES) throw tooMany(this.options.what);
      return { ...stored, entries: Object.fromEntries(lasting) };
    });
  }

  #apply({ entries }: StoredEntries): void {
    const before = this.#known;
    const nowMs = this.#timeMs();
    const lasting = Object.entries(entries).filter(([, entry]) => !hasEnded(entry, nowMs));
    this.#known = new Map(lasting.map(([name, entry]) => [name, this.#knownFrom(name, entry)]));
    this.#applyAgainAt(Math.min(...lasting.map(([, entry]) => endOf(entry))), nowMs);
    const names = new Set([...before.keys(), ...this.#known.keys()]);
    const changed = [...names].filter((name) => before.get(name) !== this.#known.get(name));
    if (changed.length > 0) this.options.onChange(changed);
  }

  /** The same object as before while the entry is the same: plans are compared by identity. */
  #knownFrom(name: string, entry: StoredEntry): Known<T> {
    const text = JSON.stringify(entry);
    const before = this.#known.get(name);
    return before?.text === text ? before : { text, entry: this.#checked(name, entry) };
  }

  #checked(name: string, entry: StoredEntry): SharedEntry<T> | undefined {
    try {
      checkNote(entry);
      const value = entry.value === null ? null : this.options.check(name, entry.value);
      return Object.freeze({ ...entry, value });
    } catch (error) {
      const { message } = error as Error;
      this.options.onProblem(`One of the shared ${this.options.what} is not used: ${message}`);
      return undefined;
    }
  }

  #applyAgainAt(untilMs: number, nowMs: number): void {
    clearTimeout(this.#timer);
    if (untilMs === Infinity) return;
    const apply = () => this.#apply(this.#document.value);
    const delayMs = Math.min(MAX_TIMER_MS, untilMs - nowMs);
    this.#timer = outsideRequests(() => setTimeout(apply, delayMs).unref());
  }
}

/** What is no time is refused when the entry is checked. */
function endOf({ until }: StoredEntry): number {
  return Number.isSafeInteger(until) ? until! : Infinity;
}

function hasEnded(entry: StoredEntry, nowMs: number): boolean {
  return endOf(entry) <= nowMs;
}

function areSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function tooMany(what: string): RateLimitError {
  return new RateLimitError(
    'INVALID_OPTION',
    `At most ${MAX_ENTRIES} ${what} can be shared. Revert some first.`,
  );
}
