import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { RateLimitOptions, ThrottleStatsSnapshot } from '../../../lib/index.js';
import { createFarm, until } from '../../support/redis-servers.js';
import type { Outcome } from './outcome.js';

/** Calls that a process begins at once. */
export interface Calls {
  readonly domain: string;
  readonly calls: number;
  /** What they cost, taken in turns. @default [1] */
  readonly tokens?: readonly number[];
  readonly timeoutMs?: number;
  /** The share that loses patience at a random time. @default 0 */
  readonly abortShare?: number;
  readonly abortWithinMs?: number;
  /** How long each call takes. @default 0 */
  readonly holdMs?: number;
}

/** What became of the calls of all processes. */
export interface Called {
  readonly outcomes: readonly Outcome[];
  /**
   * How late a turn can have been: the longest that a process was kept from running, and the longest
   * that an answer of Redis was under way.
   */
  readonly lateMs: number;
}

interface CalledOne {
  readonly outcomes: readonly Omit<Outcome, 'process'>[];
  readonly lagMs: number;
}

interface AppProcess {
  call(method: string, ...args: unknown[]): Promise<unknown>;
  kill(signal: NodeJS.Signals): void;
  end(): Promise<void>;
}

const APP_PROCESSES: string = '../../support/app-processes.mjs';
const { startApp } = (await import(APP_PROCESSES)) as {
  startApp: (options: object, script: string) => Promise<AppProcess>;
};

const SCRIPT = join(import.meta.dirname, 'caller.mjs');
/** By when all processes have heard that they are to begin. */
const START_IN_MS = 100;
/** Timers count in whole milliseconds, once when they are set and once when they fire. */
const TIMER_MS = 2;

type Server = Awaited<ReturnType<ReturnType<typeof createFarm>['single']>>;

/** Processes that call the same domains, and the Redis that they share. */
export class Callers {
  private constructor(
    private readonly farm: ReturnType<typeof createFarm>,
    readonly processes: readonly AppProcess[],
    readonly server: Server,
    readonly admin: Redis,
  ) {}

  static async start(count: number, outbound: RateLimitOptions['outbound'], rest: object = {}) {
    const farm = createFarm();
    const server = await farm.single();
    // Ten busy processes on few processors wait for each other longer than any usual deadline.
    const options = { deadlineMs: 10_000, ...rest, redis: server.url, outbound };
    const starting = Array.from({ length: count }, () => startApp(options, SCRIPT));
    const admin = new Redis(server.url, { retryStrategy: () => 20 });
    admin.on('error', () => undefined);
    return new Callers(farm, await Promise.all(starting), server, admin);
  }

  /** Lets all processes begin at the same moment, and waits until the last call is through. */
  async call(calls: Calls, processes: readonly AppProcess[] = this.processes): Promise<Called> {
    const task = { ...calls, startMs: nowMs() + START_IN_MS };
    const pings = new Pings(this.admin);
    const calling = processes.map((one) => one.call('call', task) as Promise<CalledOne>);
    const called = await Promise.all(calling).finally(() => pings.end());
    const outcomes = called.flatMap((one, process) =>
      one.outcomes.map((outcome) => ({ ...outcome, process })),
    );
    const lagMs = Math.max(...called.map((one) => one.lagMs));
    return { outcomes, lateMs: TIMER_MS + lagMs + pings.longestMs };
  }

  reportBlocks(domain: string, timesEach: number): Promise<unknown> {
    return this.#all('reportBlocks', domain, timesEach);
  }

  /** The cooldowns that each process heard of. */
  cooldowns(): Promise<number[][]> {
    return this.#all('cooldowns');
  }

  /** Waits until each process goes by the rules that it read in a file, again so often. */
  async haveReadRules(times: number): Promise<void> {
    await until('the rules to be read', async () =>
      (await this.#all<number>('rulesRead')).every((read) => read >= times),
    );
  }

  throttleStats(domain: string): Promise<ThrottleStatsSnapshot[]> {
    return this.#all('throttleStats', domain);
  }

  /** How many wait, process by process. */
  waiting(domain: string, processes = this.processes): Promise<number[]> {
    return Promise.all(
      processes.map((process) => process.call('waiting', domain) as Promise<number>),
    );
  }

  /** How often Redis was asked since it was last forgotten. */
  async storeCalls(): Promise<number> {
    const stats = await this.admin.info('commandstats');
    return Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(stats)?.[1] ?? 0);
  }

  async forgetStoreCalls(): Promise<void> {
    await this.admin.config('RESETSTAT');
  }

  async end(): Promise<void> {
    for (const process of this.processes) await process.end();
    this.admin.disconnect();
    await this.farm.stop();
  }

  #all<T>(method: string, ...args: unknown[]): Promise<T[]> {
    return Promise.all(
      this.processes.map((process) => process.call(method, ...args) as Promise<T>),
    );
  }
}

/** The time by which processes note what happens. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Measures how long answers of Redis are under way. */
class Pings {
  #longestMs = 0;
  #isOver = false;
  readonly #pinging: Promise<void>;

  constructor(private readonly redis: Redis) {
    this.#pinging = this.#ping();
  }

  get longestMs(): number {
    return this.#longestMs;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#pinging;
  }

  async #ping(): Promise<void> {
    while (!this.#isOver) {
      const fromMs = nowMs();
      await this.redis.ping().catch(() => undefined);
      this.#longestMs = Math.max(this.#longestMs, nowMs() - fromMs);
      await pause(5);
    }
  }
}
