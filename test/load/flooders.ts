import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { PlanChain, RateLimitOptions, RateLimitReason } from '../../lib/index.js';

/** What is asked, over and over. */
export interface FloodRequest {
  readonly key: string;
  readonly plans: PlanChain;
  readonly tokens: number;
}

/** What one process asks, and for how long. */
export interface Flood {
  readonly requests: readonly FloodRequest[];
  /** Calls that are under way at the same time in one process. */
  readonly callers: number;
  readonly milliseconds: number;
  /** Whether to go on, however long it takes, until everything is denied. @default false */
  readonly untilDenied?: boolean;
}

/** What one process saw. */
export interface Flooded {
  /** Tokens that were admitted, request by request. */
  readonly admitted: number[];
  readonly answers: Partial<Record<RateLimitReason, number>>;
  /** Before the first call and after the last one, by the clock of Redis. */
  readonly fromUs: number;
  readonly toUs: number;
}

const COMPILED_LIB: string = '../support/compiled-lib.mjs';
const { compileLib } = (await import(COMPILED_LIB)) as { compileLib: () => string };

/** Processes that each boot an application of their own. */
export class Flooders {
  private constructor(private readonly processes: readonly ChildProcess[]) {}

  static async start(count: number, options: RateLimitOptions): Promise<Flooders> {
    const argument = JSON.stringify({ lib: compileLib(), options });
    const script = join(import.meta.dirname, 'flooder.mjs');
    const processes = Array.from({ length: count }, () =>
      fork(script, [argument], { execArgv: [] }),
    );
    await Promise.all(processes.map(messageOf));
    return new Flooders(processes);
  }

  /** Lets all of them loose at once. */
  async flood(tasks: (process: number) => Flood): Promise<Flooded[]> {
    return Promise.all(
      this.processes.map((child, i) => {
        const flooded = messageOf(child);
        child.send(tasks(i));
        return flooded as Promise<Flooded>;
      }),
    );
  }

  stop(): void {
    for (const child of this.processes) child.kill('SIGKILL');
  }
}

function messageOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error('a process ended early'));
    child.once('exit', ended);
    child.once('message', (message) => {
      child.off('exit', ended);
      resolve(message);
    });
  });
}
