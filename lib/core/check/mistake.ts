import { InvalidOptionError, quote, RateLimitError } from '../errors.js';
import type { Path } from './path.js';
import { pathText } from './path.js';

/** Something wrong in what was given. Each room makes an error of its own of it: see `checked`. */
export class Mistake extends Error {
  constructor(
    /** The way to the offending value. */
    readonly path: Path,
    /** What is wrong, without the place. */
    problem: string,
  ) {
    super(problem);
  }

  /** Where the mistake is; `whole` is what everything that was given is called. */
  place(whole: string): string {
    return this.path.length === 0 ? whole : pathText(this.path);
  }

  /** Place and problem. */
  sentence(whole: string): string {
    const place = this.place(whole);
    return place === '' ? this.message : `${place}: ${this.message}`;
  }
}

/** A value that is not what it must be. */
export class UnexpectedValue extends Mistake {
  constructor(
    path: Path,
    readonly expected: string,
    readonly actual: unknown,
    advice?: string,
  ) {
    const problem = `must be ${expected}, got ${quote(actual)}.`;
    super(path, advice === undefined ? problem : `${problem} ${advice}`);
  }

  override sentence(whole: string): string {
    return `${this.place(whole)} ${this.message}`;
  }
}

/** A field that is not known. Its path ends with the field; the sentence names the object. */
export class UnknownField extends Mistake {
  override place(whole: string): string {
    return new Mistake(this.path.slice(0, -1), '').place(whole);
  }
}

/** The error for options; `whole` is what they are called: `forRoot()`. */
export function optionError(mistake: Mistake, whole = ''): RateLimitError {
  const { path } = mistake;
  if (mistake instanceof UnexpectedValue) {
    return new InvalidOptionError(mistake.place(whole), mistake.expected, mistake.actual, path);
  }
  const sentence = mistake.sentence('');
  const isWhole = mistake.place('') === '';
  return new RateLimitError('INVALID_OPTION', isWhole ? capitalized(sentence) : sentence, path);
}

function capitalized(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
