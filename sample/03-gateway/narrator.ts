import type { LoggerService } from '@nestjs/common';

/** What the application logged. */
export interface LogLine {
  readonly severity: 'log' | 'warn' | 'error';
  readonly message: string;
}

/** Tells what happens, and what the application logs meanwhile. */
export class Narrator implements LoggerService {
  readonly logged: LogLine[] = [];

  constructor(private readonly out: Pick<NodeJS.WriteStream, 'write'>) {}

  /** Begins something new. */
  title(text: string): void {
    this.out.write(`\n${text}\n`);
  }

  say(text: string): void {
    this.out.write(`  ${text}\n`);
  }

  /** That Nest is starting is not worth telling. */
  log(message: unknown, context?: string): void {
    if (context === 'RateLimit') this.#note('log', message);
  }

  warn(message: unknown): void {
    this.#note('warn', message);
  }

  error(message: unknown): void {
    this.#note('error', message);
  }

  #note(severity: LogLine['severity'], message: unknown): void {
    this.logged.push({ severity, message: String(message) });
    this.say(`[${severity}] ${String(message)}`);
  }
}
