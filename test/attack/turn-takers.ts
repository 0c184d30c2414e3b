import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DomainRule } from '../../lib/index.js';
import { createFarm } from '../support/redis-servers.js';

export const SITE = 'site.example';

export interface TurnTaker {
  call(method: string, ...args: unknown[]): Promise<unknown>;
  kill(signal: NodeJS.Signals): void;
  end(): Promise<void>;
}

/** A permit that was given, by a clock that all processes share. */
export interface Admission {
  readonly pid: number;
  readonly index: number;
  readonly atMs: number;
}

const APP_PROCESSES: string = '../support/app-processes.mjs';
const { startApp } = (await import(APP_PROCESSES)) as {
  startApp: (options: object, script: string) => Promise<TurnTaker>;
};

/** Processes that wait for turns at one site, and what they were given. */
export class TurnTakers {
  readonly #folder = mkdtempSync(join(tmpdir(), 'floodgate-turns-'));
  readonly #farm = createFarm();
  readonly #all: TurnTaker[] = [];
  #url = '';

  private constructor(private readonly rule: DomainRule) {}

  static async create(rule: DomainRule): Promise<TurnTakers> {
    const takers = new TurnTakers(rule);
    writeFileSync(takers.#log, '');
    takers.#url = (await takers.#farm.single()).url;
    return takers;
  }

  async start(): Promise<TurnTaker> {
    const outbound = { default: this.rule };
    const options = { redis: this.#url, deadlineMs: 10_000, outbound, site: SITE, log: this.#log };
    const taker = await startApp(options, join(import.meta.dirname, 'turn-taker.mjs'));
    this.#all.push(taker);
    return taker;
  }

  get url(): string {
    return this.#url;
  }

  /** All permits so far, in order of time. */
  admissions(): Admission[] {
    const lines = readFileSync(this.#log, 'utf8').trim().split('\n').filter(Boolean);
    return lines
      .map((line) => line.split(' '))
      .map(([pid, index, atMs]) => ({ pid: +pid!, index: +index!, atMs: +atMs! }))
      .filter(({ atMs }) => !Number.isNaN(atMs))
      .sort((one, other) => one.atMs - other.atMs);
  }

  async end(): Promise<void> {
    for (const taker of this.#all) {
      taker.kill('SIGCONT');
      await taker.end();
    }
    await this.#farm.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #log(): string {
    return join(this.#folder, 'permits');
  }
}
