import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseDocument } from 'yaml';

/** A copy of `gateway.yml` that may be changed, as an operator would. */
export class LimitsFile {
  readonly #folder = mkdtempSync(join(tmpdir(), 'gateway-'));
  readonly path = join(this.#folder, 'gateway.yml');

  constructor() {
    cpSync(join(import.meta.dirname, 'gateway.yml'), this.path);
  }

  /** Writes another value, and leaves the rest of the file as it is. */
  set(where: readonly (string | number)[], value: number): void {
    const document = parseDocument(readFileSync(this.path, 'utf8'));
    document.setIn(where, value);
    writeFileSync(this.path, document.toString());
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
