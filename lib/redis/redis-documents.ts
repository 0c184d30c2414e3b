import type {
  DocumentListener,
  DocumentStore,
  ReplacedDocument,
  StoredDocument,
} from '../core/document-store.js';
import { DOCUMENT } from './lua.js';
import type { ScriptArgument } from './lua-script.js';
import { LuaScript } from './lua-script.js';
import type { RedisKeys } from './redis-keys.js';
import type { Subscriptions } from './subscriptions.js';

const [READ, REPLACE] = [0, 1];
/** Documents expire 30 days after the last read. */
const LIFE_MS = 2_592_000_000;
/** What the script returns: whether it was replaced, the version and the text. */
const REPLY_LENGTH = 3;

/** Runs a script within the deadline of its store. */
export type RunScript = (
  script: LuaScript,
  keys: readonly string[],
  args: readonly ScriptArgument[],
  length: number,
) => Promise<unknown[]>;

/** Keeps documents in Redis. A change is published to all processes that watch. */
export class RedisDocuments implements DocumentStore {
  readonly #script = new LuaScript(DOCUMENT);

  constructor(
    private readonly run: RunScript,
    private readonly keys: RedisKeys,
    private readonly subscriptions: Subscriptions,
  ) {}

  readDocument(name: string): Promise<StoredDocument> {
    return this.#ask(name, [READ, 0, '']);
  }

  replaceDocument(name: string, version: number, text: string): Promise<ReplacedDocument> {
    return this.#ask(name, [REPLACE, version, text]);
  }

  watchDocument(name: string, listener: DocumentListener): () => void {
    const onMessage = (text: string) => {
      if (text.slice(text.indexOf(' ') + 1) === name) listener();
    };
    const subscription = this.subscriptions.listen(this.keys.documentChannel, onMessage, listener);
    return () => subscription.close();
  }

  async #ask(name: string, question: readonly ScriptArgument[]): Promise<ReplacedDocument> {
    const args = [LIFE_MS, ...question, this.keys.documentChannel, name];
    const reply = await this.run(this.#script, [this.keys.documentOf(name)], args, REPLY_LENGTH);
    const [replaced, version, text] = reply as [number, number, string];
    return { replaced: replaced === 1, version, text };
  }
}
