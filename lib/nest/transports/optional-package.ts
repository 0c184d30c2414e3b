import { RateLimitError } from '../../core/errors.js';

/** A package that only some applications have. It is loaded when it is needed, and not before. */
export class OptionalPackage<T> {
  #loading: Promise<T> | undefined;

  constructor(
    private readonly name: string,
    private readonly purpose: string,
    private readonly importIt: () => Promise<T>,
  ) {}

  load(): Promise<T> {
    return (this.#loading ??= this.#import());
  }

  async #import(): Promise<T> {
    try {
      return await this.importIt();
    } catch (error) {
      throw isMissing(error, this.name) ? this.#missing() : error;
    }
  }

  #missing(): RateLimitError {
    const { name, purpose } = this;
    return new RateLimitError(
      'MISSING_PACKAGE',
      `${purpose} need the package ${name}: npm install ${name}`,
    );
  }
}

/** One that is there but cannot be loaded has something else to say. */
function isMissing(error: unknown, name: string): boolean {
  const { code, message } = error as NodeJS.ErrnoException;
  const notFound = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
  return notFound && message.includes(`'${name}'`);
}
