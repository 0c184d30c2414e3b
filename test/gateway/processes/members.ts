import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { GatewayOptions } from '../../../lib/gateway/config/gateway-options.js';
import type { GatewayTarget, LevelLimits, LevelUse } from '../../../lib/index.js';
import type { Farm } from '../../support/redis-servers.js';
import { createFarm } from '../../support/redis-servers.js';

interface AppProcess {
  call(method: string, ...args: unknown[]): Promise<unknown>;
  kill(signal: NodeJS.Signals): void;
  end(): Promise<void>;
}

const APP_PROCESSES: string = '../../support/app-processes.mjs';
const { startApp } = (await import(APP_PROCESSES)) as {
  startApp: (options: object, script: string) => Promise<AppProcess>;
};
const SCRIPT = join(import.meta.dirname, 'member.mjs');

/** What became of an attempt to connect. */
export interface Attempt {
  readonly id: number;
  readonly allowed: boolean;
  readonly reason: string;
  readonly retryAfterMs: number | null;
  /** Which level said no. */
  readonly level: string | null;
}

/** Callers that come and go for a while. */
export interface Visiting {
  readonly target: GatewayTarget;
  readonly callers: number;
  readonly forMs: number;
  /** The longest that one stays. */
  readonly holdMs: number;
}

/** From when to when somebody was admitted, by a clock that all processes share. */
export interface Visit {
  readonly fromMs: number;
  readonly toMs: number;
  readonly reason: string;
}

/** A gateway in a process of its own. */
export class Member {
  constructor(private readonly process: AppProcess) {}

  open(target: GatewayTarget): Promise<Attempt> {
    return this.process.call('open', target) as Promise<Attempt>;
  }

  release(id: number): Promise<unknown> {
    return this.process.call('release', id);
  }

  visit(visiting: Visiting): Promise<Visit[]> {
    return this.process.call('visit', visiting) as Promise<Visit[]>;
  }

  updateServer(limits: LevelLimits | null): Promise<boolean> {
    return this.process.call('updateServer', limits) as Promise<boolean>;
  }

  updateRoute(routeId: string, limits: LevelLimits | null): Promise<boolean> {
    return this.process.call('updateRoute', routeId, limits) as Promise<boolean>;
  }

  /** The eight limits of a route, as this process sees them. */
  limits(routeId: string): Promise<number[]> {
    return this.process.call('limits', routeId) as Promise<number[]>;
  }

  async connections(): Promise<number | undefined> {
    return ((await this.process.call('current', 'server')) as LevelUse).connections;
  }

  async kill(): Promise<void> {
    await this.process.end();
  }
}

/** Gateways that share a Redis of their own. */
export class Members {
  readonly #members: Member[] = [];

  private constructor(
    private readonly farm: Farm,
    readonly server: Awaited<ReturnType<Farm['single']>>,
    readonly admin: Redis,
  ) {}

  static async meet(): Promise<Members> {
    const farm = createFarm();
    const server = await farm.single();
    const admin = new Redis(server.url, { retryStrategy: () => 20 });
    admin.on('error', () => undefined);
    return new Members(farm, server, admin);
  }

  async join(gateway: GatewayOptions, options: object = {}): Promise<Member> {
    // Busy processes on few processors wait for each other longer than any usual deadline.
    const patient = { deadlineMs: 5_000, redis: this.server.url };
    const member = new Member(await startApp({ ...patient, ...options, gateway }, SCRIPT));
    this.#members.push(member);
    return member;
  }

  async part(): Promise<void> {
    for (const member of this.#members) await member.kill();
    this.admin.disconnect();
    await this.farm.stop();
  }
}

/** How many were there, from each moment on at which that changed. */
export function crowdOf(
  visits: readonly Visit[],
): { readonly atMs: number; readonly count: number }[] {
  const steps = visits.flatMap(({ fromMs, toMs }) => [
    { atMs: fromMs, by: 1 },
    { atMs: toMs, by: -1 },
  ]);
  let count = 0;
  return steps
    .sort((a, b) => a.atMs - b.atMs || a.by - b.by)
    .map(({ atMs, by }) => ({ atMs, count: (count += by) }));
}

/** The most that were there at the same time. */
export function mostAtOnce(visits: readonly Visit[]): number {
  return Math.max(0, ...crowdOf(visits).map(({ count }) => count));
}

/** The time by which processes note what happens. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
