/** What is shown of a domain. */
export interface Line {
  readonly domain: string;
  readonly perSecond: number;
  readonly waiting: number;
  readonly requests: number;
  /** What is left of a cooldown, 0 when there is none. */
  readonly cooldownMs: number;
}

/** What it needs of standard output. */
export type Output = Pick<NodeJS.WriteStream, 'write' | 'isTTY' | 'columns' | 'hasColors'>;

/** What terminals understand. */
const upAndClear = (lines: number) => `\x1b[${lines}A\x1b[J`;
const yellow = (text: string) => `\x1b[33m${text}\x1b[39m`;

/** Lines that change in place in a terminal, and follow each other anywhere else. */
export class Screen {
  #lines: readonly Line[] = [];

  constructor(private readonly out: Output) {}

  /** How often it is worth drawing. */
  get intervalMs(): number {
    return this.out.isTTY ? 200 : 1_000;
  }

  /** Shows the domains, in the place where they were shown last. */
  draw(lines: readonly Line[]): void {
    this.#clear();
    this.#lines = lines;
    this.#write();
  }

  /** Says something that stays. */
  say(text: string): void {
    this.#clear();
    this.out.write(`${text}\n`);
    if (this.out.isTTY) this.#write();
  }

  #clear(): void {
    if (this.out.isTTY && this.#lines.length > 0) this.out.write(upAndClear(this.#lines.length));
  }

  #write(): void {
    for (const line of this.#lines) this.out.write(`${this.#text(line)}\n`);
  }

  #text(line: Line): string {
    if (!this.out.isTTY) return textOf(line);
    // A line that wraps would take two.
    const text = textOf(line).slice(0, this.out.columns - 1);
    return line.cooldownMs > 0 && this.out.hasColors() ? yellow(text) : text;
  }
}

function textOf({ domain, perSecond, waiting, requests, cooldownMs }: Line): string {
  const columns = [
    domain.padEnd(10),
    `${perSecond}/s`.padStart(5),
    `${waiting} waiting`.padStart(11),
    `${requests} sent`.padStart(9),
  ];
  const now = cooldownMs > 0 ? `cooldown ${seconds(cooldownMs)}` : '▇'.repeat(perSecond);
  return `${columns.join(' ')}  ${now}`.trimEnd();
}

/** Milliseconds for people. */
export function seconds(milliseconds: number): string {
  return `${(milliseconds / 1_000).toFixed(1)} s`;
}
