import 'reflect-metadata';
import { setPriority } from 'node:os';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import type { DynamicModule, INestApplicationContext, LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { expect } from '@jest/globals';
import type { RateLimitOptions } from '../../lib/index.js';
import { RateLimiter, RateLimitModule } from '../../lib/index.js';
import type { LoadOptions } from '../support/load.js';
import { Load, LOAD_PLANS } from '../support/load.js';
import { createFarm, freePort, until } from '../support/redis-servers.js';
import type { FaultRow } from './fault-report.js';

/** Longest that a decision waits for Redis in these tests: the default. */
export const DEADLINE_MS = 50;

/** Where Redis is well and has to answer everything, however busy this machine is. */
export const PATIENT = { deadlineMs: 2_000 } as const;

@Module({})
class RootModule {
  static with(options: RateLimitOptions): DynamicModule {
    const plans = { ...LOAD_PLANS, ...options.plans };
    return { module: RootModule, imports: [RateLimitModule.forRoot({ ...options, plans })] };
  }
}

/** An application that limits on Redis, and what it logs about that. */
export interface App {
  readonly limiter: RateLimiter;
  readonly lines: string[];
  close(): Promise<void>;
}

/** A Redis server that can be started again as it was. */
export interface Server {
  readonly port: number;
  readonly url: string;
  /** Sends a signal; a kill returns when the process is gone. */
  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void>;
  restart(extra?: string[]): Promise<void>;
  /** Lets it run before others, where that is allowed: a server without a processor is not well. */
  prefer(): void;
}

/** What a fault is played on: servers, applications and a client that looks at the keys. */
export class Stage {
  readonly #farm = createFarm();
  readonly #apps: INestApplicationContext[] = [];
  readonly #admins: Redis[] = [];

  /** Starts a server with options of redis.conf. */
  async server(extra: string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Server> {
    const port = await freePort();
    let child = await this.#farm.start(port, extra, env);
    return {
      port,
      url: `redis://127.0.0.1:${port}`,
      signal: async (signal) => {
        const ended = new Promise((resolve) => child.once('exit', resolve));
        child.kill(signal);
        if (signal === 'SIGKILL') await ended;
      },
      restart: async (other = extra) => {
        child = await this.#farm.start(port, other, env);
      },
      prefer: () => {
        try {
          setPriority(child.pid!, -10);
        } catch {
          // Only root may.
        }
      },
    };
  }

  /** Starts an application on a server. */
  async app(redis: RateLimitOptions['redis'], options: RateLimitOptions = {}): Promise<App> {
    const lines: string[] = [];
    const keep = (line: unknown, context?: string) => {
      if (context === 'RateLimit') lines.push(String(line));
    };
    const logger: LoggerService = { log: keep, warn: keep, error: keep };
    const module = RootModule.with({ ...options, redis: redis! });
    const app = await NestFactory.createApplicationContext(module, {
      logger,
      abortOnError: false,
    });
    this.#apps.push(app);
    const close = async () => {
      this.#apps.splice(this.#apps.indexOf(app), 1);
      await app.close();
    };
    return { limiter: app.get(RateLimiter), lines, close };
  }

  /** A client of our own, to do harm and to look at what is kept. */
  admin({ port }: { readonly port: number }): Redis {
    // Nothing is sent twice, and nothing waits for a server that is loading.
    const admin = new Redis(port, {
      enableReadyCheck: false,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      retryStrategy: () => 20,
      disconnectTimeout: 10,
    });
    admin.on('error', () => undefined);
    this.#admins.push(admin);
    return admin;
  }

  async end(): Promise<void> {
    for (const app of this.#apps) await app.close();
    for (const admin of this.#admins) admin.disconnect();
    await this.#farm.stop();
  }
}

/** Something bad that ends. */
export interface Fault {
  readonly name: string;
  /** Makes it happen. */
  readonly strike: (load: Load) => Promise<unknown>;
  /** Ends it. */
  readonly heal?: (load: Load) => Promise<unknown>;
  /** How long it lasts. @default 350 */
  readonly lastsMs?: number;
  readonly load?: LoadOptions;
}

/** What callers saw of a fault, and the load that they made, which has ended. */
export interface Outcome {
  readonly row: FaultRow;
  readonly load: Load;
}

/**
 * Plays a fault while callers keep asking: everything is well, the fault strikes, lasts, heals, and
 * Redis answers again for a while.
 */
export async function playUnderLoad(limiter: RateLimiter, fault: Fault): Promise<Outcome> {
  const load = new Load(limiter, fault.load);
  let healedMs: number;
  try {
    await until('the load to be steady', () => load.isSteady);
    await fault.strike(load);
    await pause(fault.lastsMs ?? 350);
    await fault.heal?.(load);
    healedMs = performance.now();
    await until('recovery', () => performance.now() - healedMs > 200 && load.isSteady);
  } finally {
    await load.stop();
  }
  const row: FaultRow = {
    fault: fault.name,
    longestWaitMs: load.longestWaitMs,
    errors: load.errors.length,
    recoveryMs: load.count('FAIL_OPEN') === 0 ? null : load.failedUntilMs(healedMs),
    overAdmission: load.overAdmission,
  };
  return { row, load };
}

/** What no fault may do to callers. */
export function expectHarmless(outcome: Outcome): void {
  expectExact(outcome);
  const { row, load } = outcome;
  // What this process kept itself waiting is not the limiter's doing.
  expect(row.longestWaitMs).toBeLessThan(DEADLINE_MS + 10 + 2 * load.lagMs);
  expect(row.recoveryMs ?? 0).toBeLessThan(1_000 + 2 * load.lagMs);
}

/** Nobody sees an exception, and nobody gets too much. */
export function expectExact({ row, load }: Outcome): void {
  expect(load.errors).toEqual([]);
  expect(row.overAdmission).toBe(0);
}

/** Redis was there all the time. */
export function expectAllDecided({ row, load }: Outcome): void {
  expectExact({ row, load });
  expect(load.count('FAIL_OPEN')).toBe(0);
}
