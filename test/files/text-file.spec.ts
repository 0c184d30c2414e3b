import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { RateLimitError } from '../../lib/core/errors.js';
import { readTextFile } from '../../lib/files/text-file.js';

describe('a text file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'text-file-'));
  const path = join(folder, 'some.txt');
  afterAll(() => rmSync(folder, { recursive: true }));
  const read = (file: string) => readTextFile(file, 'Shorten it.');
  const problem = (text: string) => new RateLimitError('INVALID_OPTION', text);

  it('is read up to 1 MB', async () => {
    writeFileSync(path, 'ü');
    await expect(read(path)).resolves.toBe('ü');
    truncateSync(path, 1_048_576);
    await expect(read(path)).resolves.toHaveLength(1_048_575);
    truncateSync(path, 1_048_577);
    await expect(read(path)).rejects.toThrow(
      problem('has 1048577 bytes, which is more than 1048576. Shorten it.'),
    );
  });

  it('is a file that is there', async () => {
    await expect(read(folder)).rejects.toThrow(problem('is not a file.'));
    await expect(read('/dev/zero')).rejects.toThrow(problem('is not a file.'));
    await expect(read(join(folder, 'x'))).rejects.toThrow(problem('cannot be read (ENOENT).'));
    await expect(read(join(path, 'x'))).rejects.toThrow(problem('cannot be read (ENOTDIR).'));
  });
});
