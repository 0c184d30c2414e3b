import { hash, randomUUID } from 'node:crypto';
import type { Gate } from '../core/gate.js';
import type { Limit } from '../core/limit-store.js';

/** Stands before every key unless the options say otherwise. */
export const DEFAULT_KEY_PREFIX = 'rate_limiter';

/** Kept as it is: short, and nothing in it that Redis or a person could take for something else. */
const PLAIN = /^[\w.:@/+=~,-]{1,120}$/;

/**
 * Names the key of a limit: `rate_limiter:<plan>:{<key>}`. The braces are the hash tag, so that all
 * plans of one key share a slot of a cluster, and callers have no say in which one.
 */
export class RedisKeys {
  readonly #process = randomUUID();

  constructor(
    private readonly prefix: string = DEFAULT_KEY_PREFIX,
    /** Channels are shared by all databases of a server, keys are not. */
    private readonly database = 0,
  ) {}

  nameOf(limit: Limit): string {
    return this.#name(limit, tagOf(limit.key));
  }

  /** The keys of a chain. Most chains are about one key, whose tag is then made once. */
  namesOf(limits: readonly Limit[]): string[] {
    const names: string[] = [];
    let key: string | undefined;
    let tag = '';
    for (const limit of limits) {
      if (limit.key !== key) tag = tagOf((key = limit.key));
      names.push(this.#name(limit, tag));
    }
    return names;
  }

  /** A gate shares the slot of the limits behind it; no plan can have its name. */
  gateOf({ key }: Pick<Gate, 'key'>): string {
    return `${this.prefix}:_gate:{${tagOf(key)}}`;
  }

  /** A document that all processes share. The word in the key is that of older versions. */
  documentOf(name: string): string {
    return `${this.prefix}:_notice:{${tagOf(name)}}`;
  }

  /** The channel on which changes of documents are published. */
  get documentChannel(): string {
    return `${this.prefix}:notices:${this.database}`;
  }

  /** Where changes of gates are told. */
  get gateChannel(): string {
    return `${this.prefix}:gates:${this.database}`;
  }

  /** Where this process hears itself. */
  get echoChannel(): string {
    return `${this.prefix}:echo:${this.#process}`;
  }

  #name({ plan }: Limit, tag: string): string {
    const name = `${this.prefix}:${plan.name}:{${tag}}`;
    // A set of leases never meets the hash of a plan that was of another kind before.
    return plan.kind === 'concurrency' ? `${name}:leases` : name;
  }
}

/** What is not plain is hashed, marked with a sign that no plain key has. */
function tagOf(key: string): string {
  if (PLAIN.test(key)) return key;
  // As it is in memory: as UTF-8, all lone surrogates would be one and the same.
  return `#${hash('sha256', Buffer.from(key, 'utf16le'), 'base64url')}`;
}
