/** One policy of a `RateLimit` header: this many within this time. */
export interface RateLimitItem {
  readonly remaining: number;
  readonly windowSeconds: number;
}

/** Longer than any honest server writes it. */
const MAX_CHARS = 8_192;

const OPTIONAL_SPACE = /[ \t]*/y;
const SPACES = / */y;
const KEY = /[a-z*][a-z0-9_.*-]*/y;
/** The bare items of RFC 9651. Each begins differently, so that none is tried in vain for long. */
const BARE_ITEMS = [
  /"(?:[ !#-[\]-~]|\\["\\])*"/y,
  /-?(?:\d{1,12}\.\d{1,3}|\d{1,15})(?![\d.])/y,
  /[A-Za-z*][\w!#$%&'*+.^`|~:/-]*/y,
  /:(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}(?:==)?|[A-Za-z\d+/]{3}=?)?:/y,
  /\?[01]/y,
  /@-?\d{1,15}(?![\d.])/y,
  /%"(?:[ !#$&-~]|%[\da-f]{2})*"/y,
] as const;
const INTEGER = /^\d+$/;

/**
 * The policies in a `RateLimit` header (draft-ietf-httpapi-ratelimit-headers) that say both what is
 * left and for how long. A header that is not a list of structured items (RFC 9651) has none: part
 * of a header that cannot be read is no reason to believe the rest.
 */
export function parseRateLimitField(field: string): readonly RateLimitItem[] {
  if (field.length > MAX_CHARS) return [];
  return new RateLimitFieldReader(field).read() ?? [];
}

class RateLimitFieldReader {
  #at = 0;

  constructor(private readonly field: string) {}

  /** Undefined when the header is malformed. */
  read(): readonly RateLimitItem[] | undefined {
    const items: RateLimitItem[] = [];
    do {
      this.#take(OPTIONAL_SPACE);
      const parameters = this.#takeItem();
      if (!parameters) return undefined;
      const item = itemOf(parameters);
      if (item) items.push(item);
      this.#take(OPTIONAL_SPACE);
    } while (this.#takeChar(','));
    return this.#at === this.field.length ? items : undefined;
  }

  /** The parameters of the next item. */
  #takeItem(): ReadonlyMap<string, string> | undefined {
    if (this.#takeBareItem() === undefined) return undefined;
    const parameters = new Map<string, string>();
    while (this.#takeChar(';')) {
      this.#take(SPACES);
      const key = this.#take(KEY);
      const value = this.#takeChar('=') ? this.#takeBareItem() : '?1';
      if (key === undefined || value === undefined) return undefined;
      parameters.set(key, value);
    }
    return parameters;
  }

  #takeBareItem(): string | undefined {
    for (const kind of BARE_ITEMS) {
      const taken = this.#take(kind);
      if (taken !== undefined) return taken;
    }
    return undefined;
  }

  #takeChar(char: string): boolean {
    const isNext = this.field[this.#at] === char;
    if (isNext) this.#at += 1;
    return isNext;
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const taken = pattern.exec(this.field)?.[0];
    this.#at += taken?.length ?? 0;
    return taken;
  }
}

function itemOf(parameters: ReadonlyMap<string, string>): RateLimitItem | undefined {
  const remaining = parameters.get('r') ?? '';
  const windowSeconds = parameters.get('t') ?? '';
  if (!INTEGER.test(remaining) || !INTEGER.test(windowSeconds)) return undefined;
  return { remaining: Number(remaining), windowSeconds: Number(windowSeconds) };
}
