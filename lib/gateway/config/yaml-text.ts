import { RateLimitError } from '../../core/errors.js';

/** As much of the package `yaml` as is used. */
export interface YamlPackage {
  readonly LineCounter: new () => YamlLines;
  parseDocument(text: string, options: YamlOptions): YamlDocument;
  visit(document: never, visitor: { Alias(): void }): void;
}

interface YamlLines {
  linePos(offset: number): { readonly line: number; readonly col: number };
}

interface YamlOptions {
  // The package adds to it while it parses.
  readonly lineCounter: never;
  readonly prettyErrors: boolean;
  readonly logLevel: 'error';
  readonly schema: 'core';
  readonly resolveKnownTags: boolean;
  readonly uniqueKeys: (one: unknown, other: unknown) => boolean;
}

interface YamlDocument {
  readonly contents: unknown;
  readonly errors: readonly YamlProblem[];
  readonly warnings: readonly YamlProblem[];
  toJS(options: { readonly maxAliasCount: number }): unknown;
}

interface YamlProblem {
  readonly message: string;
  readonly pos: readonly [number, number];
}

/** A list, a map, a scalar or an alias. */
interface YamlNode {
  readonly range?: readonly number[] | null;
  readonly value?: unknown;
  readonly items?: readonly { readonly key?: unknown }[];
  get?(key: string | number, keepScalar: true): unknown;
  resolve?(document: YamlDocument): unknown;
}

/** To find what an alias stands for, the package looks through the whole text. */
const MAX_ALIASES = 1_000;
/** What a text may come to once its aliases are written out: values, and characters of texts. */
const MAX_WEIGHT = 2_000_000;
/** The package compares all keys of a map with each other: a map with 100 000 would take minutes. */
const MAX_KEY_COMPARISONS = 2_000_000;

/** A text in YAML, or in JSON, which is YAML too; and where in it things stand. */
export class YamlText {
  readonly #document: YamlDocument;
  readonly #lines: YamlLines;

  /** Throws a `RateLimitError` where the text cannot even be looked at. */
  constructor(
    text: string,
    private readonly yaml: YamlPackage,
  ) {
    this.#lines = new yaml.LineCounter();
    try {
      this.#document = yaml.parseDocument(text, {
        lineCounter: this.#lines as never,
        prettyErrors: false,
        logLevel: 'error',
        // Whatever the text itself asks for: dates, sets and the like have no place here.
        schema: 'core',
        resolveKnownTags: false,
        uniqueKeys: boundedComparison(),
      });
    } catch (error) {
      throw notYaml((error as Error).message);
    }
  }

  /** Where the text is not YAML, or asks for what is not supported; undefined where it is fine. */
  get problem(): { readonly message: string; readonly place: string } | undefined {
    const { errors, warnings } = this.#document;
    const [first] = [...errors, ...warnings];
    return first && { message: notYaml(first.message).message, place: this.#placeAt(first.pos[0]) };
  }

  /** What the text says. Throws a `RateLimitError` where its aliases lead nowhere or grow too large. */
  value(): unknown {
    try {
      this.#checkAliases();
      const value = this.#document.toJS({ maxAliasCount: MAX_ALIASES + 1 });
      checkWeight(value);
      return value;
    } catch (error) {
      throw error instanceof RateLimitError ? error : notYaml((error as Error).message);
    }
  }

  /**
   * Where the value at this path starts, or the closest ancestor that is there. With `atKey`, where
   * the key starts that the path ends with.
   */
  placeOf(path: readonly (string | number)[], atKey = false): string {
    let node = this.#resolved(this.#document.contents);
    for (const step of atKey ? path.slice(0, -1) : path) {
      const next = this.#resolved(node?.get?.(step, true));
      if (!next) break;
      node = next;
    }
    const keys = node?.items?.map(({ key }) => key as YamlNode | undefined);
    const key = atKey ? keys?.find((one) => String(one?.value) === path.at(-1)) : undefined;
    return this.#placeAt((key ?? node)?.range?.[0] ?? 0);
  }

  #checkAliases(): void {
    let left = MAX_ALIASES;
    const Alias = () => {
      if (left-- === 0) throw notYaml(`There are more than ${MAX_ALIASES} aliases in it`);
    };
    this.yaml.visit(this.#document as never, { Alias });
  }

  #resolved(node: unknown): YamlNode | undefined {
    const one = node as YamlNode | null | undefined;
    return (one?.resolve ? one.resolve(this.#document) : one) as YamlNode | undefined;
  }

  #placeAt(offset: number): string {
    const { line, col } = this.#lines.linePos(offset);
    return `line ${line}, column ${col}`;
  }
}

function boundedComparison(): (one: unknown, other: unknown) => boolean {
  let left = MAX_KEY_COMPARISONS;
  return (one, other) => {
    if (left-- === 0) throw new Error('Too many keys in a map');
    const key = (one as YamlNode | null)?.value;
    return key !== undefined && key === (other as YamlNode | null)?.value;
  };
}

/** Aliases share what they stand for; it is when they are written out that they explode. */
function checkWeight(value: unknown): void {
  let left = MAX_WEIGHT;
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const one = waiting.pop();
    left -= typeof one === 'string' ? one.length + 1 : 1;
    if (left < 0) throw notYaml('The aliases in it stand for too much');
    if (typeof one === 'object' && one !== null) {
      for (const part of Object.values(one)) waiting.push(part);
    }
  }
}

function notYaml(problem: string): RateLimitError {
  return new RateLimitError('INVALID_OPTION', `is not YAML that can be read: ${problem}.`);
}
