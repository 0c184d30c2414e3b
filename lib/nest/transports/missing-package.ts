import { RateLimitError } from '../../core/errors.js';

/**
 * What to do when an optional package cannot be loaded: say which one to install. Bundlers see by the
 * `.catch()` that they may do without it.
 */
export function missingPackage(name: string, purpose: string): (error: unknown) => never {
  return (error) => {
    if (!isMissing(error, name)) throw error;
    throw new RateLimitError(
      'MISSING_PACKAGE',
      `${purpose} need the package ${name}: npm install ${name}`,
    );
  };
}

/** One that is there but cannot be loaded has something else to say. */
function isMissing(error: unknown, name: string): boolean {
  const { code, message } = error as NodeJS.ErrnoException;
  const notFound = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
  return notFound && message.includes(`'${name}'`);
}
