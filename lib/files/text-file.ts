import { readFile, stat } from 'node:fs/promises';
import { RateLimitError } from '../core/errors.js';

/** Longer files are hardly meant: some ten thousand entries fit in. */
const MAX_FILE_BYTES = 1_048_576;

/**
 * The text of a small file. Throws a `RateLimitError` that says why there is none; the name of the
 * file has to be put before. `advice` is what to do about a file that is too long.
 */
export async function readTextFile(path: string, advice: string): Promise<string> {
  try {
    // Looked at before it is opened: a pipe would be waited for, a device would never end.
    const file = await stat(path);
    if (!file.isFile()) throw new RateLimitError('INVALID_OPTION', 'is not a file.');
    checkFileSize(file.size, advice);
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof RateLimitError) throw error;
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new RateLimitError('INVALID_OPTION', `cannot be read (${code}).`);
  }
}

/** Throws a `RateLimitError` for more bytes than a file may have, as `readTextFile` does. */
export function checkFileSize(bytes: number, advice: string): void {
  if (bytes <= MAX_FILE_BYTES) return;
  throw new RateLimitError(
    'INVALID_OPTION',
    `has ${bytes} bytes, which is more than ${MAX_FILE_BYTES}. ${advice}`,
  );
}
