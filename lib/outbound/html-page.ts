/** How much of a body is looked at: the first 64 KiB say what kind of page it is. */
export const PAGE_CHARS = 65_536;

/** The opening of an element. */
export interface HtmlTag {
  readonly name: string;
  /** All of it, in lower case: `<input type="password">`. */
  readonly source: string;
}

/** What a page consists of, as far as telling a wall from a page needs it. All in lower case. */
export interface HtmlPage {
  readonly source: string;
  readonly title: string;
  readonly tags: readonly HtmlTag[];
  /** Characters that a reader would see, white space not counted. */
  readonly visibleChars: number;
  /** False when the end is missing, so that more may follow. */
  readonly isWhole: boolean;
}

const TAG_NAME = /[a-z][^\s/>]*/y;
/** Elements whose content is no text of the page and holds no tags. */
const RAW_ELEMENTS: ReadonlySet<string> = new Set(['script', 'style', 'title', 'textarea']);
const INVISIBLE = /(?:[\s\u200b]|&(?:nbsp|#160|#xa0|#8203);)+/g;

/**
 * Reads the beginning of a page in one pass: no text, however hostile, is looked at twice, because
 * whatever is opened and never closed ends the reading.
 */
export function readHtmlPage(html: string): HtmlPage {
  return new HtmlReader(html).read();
}

class HtmlReader {
  readonly #source: string;
  readonly #tags: HtmlTag[] = [];
  #title = '';
  #visibleChars = 0;
  #isWhole: boolean;
  #at = 0;

  constructor(html: string) {
    this.#isWhole = html.length < PAGE_CHARS;
    this.#source = html.slice(0, PAGE_CHARS).toLowerCase();
  }

  read(): HtmlPage {
    while (this.#at < this.#source.length) {
      if (this.#source[this.#at] === '<') this.#readMarkup();
      else this.#readText();
    }
    return {
      source: this.#source,
      title: this.#title,
      tags: this.#tags,
      visibleChars: this.#visibleChars,
      isWhole: this.#isWhole,
    };
  }

  #readText(): void {
    const next = this.#source.indexOf('<', this.#at);
    const end = next === -1 ? this.#source.length : next;
    const text = this.#source.slice(this.#at, end);
    this.#visibleChars += text.replace(INVISIBLE, '').length;
    this.#at = end;
  }

  #readMarkup(): void {
    const following = this.#source[this.#at + 1] ?? '';
    if (this.#source.startsWith('<!--', this.#at)) this.#skipPast('-->');
    else if (following === '!' || following === '?' || following === '/') this.#skipPast('>');
    else if (this.#nameAt(this.#at + 1) !== '') this.#readTag();
    else this.#readLessThan();
  }

  #readTag(): void {
    const name = this.#nameAt(this.#at + 1);
    const end = endOfTag(this.#source, this.#at);
    if (end === -1) return this.#stop();
    this.#tags.push({ name, source: this.#source.slice(this.#at, end + 1) });
    this.#at = end + 1;
    if (RAW_ELEMENTS.has(name)) this.#skipContent(name);
  }

  #skipContent(name: string): void {
    const end = this.#source.indexOf(`</${name}`, this.#at);
    if (end === -1) return this.#stop();
    if (name === 'title') this.#title ||= this.#source.slice(this.#at, end).trim();
    this.#at = end;
  }

  /** "<" before anything but a name is text. */
  #readLessThan(): void {
    this.#visibleChars += 1;
    this.#at += 1;
  }

  #skipPast(ending: string): void {
    const end = this.#source.indexOf(ending, this.#at);
    if (end === -1) this.#stop();
    else this.#at = end + ending.length;
  }

  #stop(): void {
    this.#isWhole = false;
    this.#at = this.#source.length;
  }

  #nameAt(index: number): string {
    TAG_NAME.lastIndex = index;
    return TAG_NAME.exec(this.#source)?.[0] ?? '';
  }
}

/** Where the tag ends that starts here: at the first ">" outside of a quoted value. */
function endOfTag(source: string, start: number): number {
  let quote = '';
  let isValueNext = false;
  for (let i = start; i < source.length; i++) {
    const char = source[i]!;
    if (quote !== '') {
      if (char === quote) quote = '';
      continue;
    }
    if (char === '>') return i;
    if (isValueNext && (char === '"' || char === "'")) quote = char;
    isValueNext = char === '=' || (isValueNext && char.trim() === '');
  }
  return -1;
}
