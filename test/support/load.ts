import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { PlanDefinition, RateLimiter, RateLimitReason } from '../../lib/index.js';

/** Plans that the load spends from; an application under load has to know them. */
export const LOAD_PLANS = {
  /** Is denied most of the time: shows whether anybody gets too much. */
  tight: { capacity: 5, tokensPerSecond: 50 },
  /** Is never denied while Redis answers: shows who answers. */
  roomy: { capacity: 1_000_000, tokensPerSecond: 0.01 },
} as const satisfies Record<string, PlanDefinition>;

/** How many ask how often. */
export interface LoadOptions {
  /** @default 20 */
  readonly callers?: number;
  /** Between an answer and the next question of the same caller. @default 10 */
  readonly pauseMs?: number;
  /** Stands in front of every key, to keep loads apart. @default 'load' */
  readonly name?: string;
}

/** One call and its answer; the decision was made somewhere between its two times. */
interface Call {
  readonly startMs: number;
  readonly endMs: number;
  readonly reason: RateLimitReason;
}

type PlanName = keyof typeof LOAD_PLANS;

const TIGHT_KEYS = 4;
/** Calls in a row that have to be answered by Redis before it counts as back. */
const STEADY_CALLS = 40;

/**
 * A bounded number of callers in this process, asking one after the other until they are stopped.
 * Keeps what each of them saw.
 */
export class Load {
  /** Everything that was thrown at a caller: nothing, one hopes. */
  readonly errors: unknown[] = [];
  longestWaitMs = 0;
  /** The longest that this process kept its own timers waiting: no fault of anybody's. */
  lagMs = 0;
  readonly #vainWaitsMs: number[] = [];
  readonly #reasons = new Map<RateLimitReason, number>();
  readonly #admitted = new Map<string, { plan: PlanName; calls: Call[] }>();
  readonly #callers: Promise<void>[];
  readonly #ticking: Promise<void>;
  #sinceMs = 0;
  #lastFailedMs = 0;
  #steady = 0;
  #stopped = false;

  constructor(
    private readonly limiter: RateLimiter,
    { callers = 20, pauseMs = 10, name = 'load' }: LoadOptions = {},
  ) {
    this.#callers = Array.from({ length: callers }, (_, i) =>
      this.#ask(`${name}-${i}`, i, pauseMs),
    );
    this.#ticking = this.#tick();
  }

  get calls(): number {
    return [...this.#reasons.values()].reduce((sum, count) => sum + count, 0);
  }

  /** How many calls waited longer than that, to be let pass without an answer. */
  waitedInVain(milliseconds: number): number {
    return this.#vainWaitsMs.filter((wait) => wait > milliseconds).length;
  }

  count(reason: RateLimitReason): number {
    return this.#reasons.get(reason) ?? 0;
  }

  /** Whether Redis has answered for a while now. */
  get isSteady(): boolean {
    return this.#steady >= STEADY_CALLS;
  }

  /** From a moment to the end of the last call that was let pass without Redis; 0 if none was. */
  failedUntilMs(sinceMs: number): number {
    return Math.max(0, this.#lastFailedMs - sinceMs);
  }

  /** Calls that were admitted and counted, for each key of a plan. */
  admitted(plan: PlanName): Map<string, number> {
    const ofPlan = [...this.#admitted].filter(([, one]) => one.plan === plan);
    return new Map(ofPlan.map(([id, { calls }]) => [id.slice(plan.length + 1), calls.length]));
  }

  /** What was counted so far is known to be lost, so that everybody starts anew. */
  forget(): void {
    this.#admitted.clear();
    this.#sinceMs = performance.now();
  }

  /** The most that any key got above its capacity and what came back in any interval. */
  get overAdmission(): number {
    const excesses = [...this.#admitted.values()].map(({ plan, calls }) =>
      mostAbove(LOAD_PLANS[plan], calls),
    );
    return Math.max(0, ...excesses);
  }

  async stop(): Promise<this> {
    this.#stopped = true;
    await Promise.all([...this.#callers, this.#ticking]);
    return this;
  }

  async #ask(key: string, index: number, pauseMs: number): Promise<void> {
    const shared = key.replace(/\d+$/, String(index % TIGHT_KEYS));
    await pause((index % 10) * (pauseMs / 10));
    for (let i = 0; !this.#stopped; i++) {
      if (i % 2 === 0) await this.#call(key, 'roomy');
      else await this.#call(shared, 'tight');
      await pause(pauseMs);
    }
  }

  async #call(key: string, plan: PlanName): Promise<void> {
    const startMs = performance.now();
    try {
      const { reason } = await this.limiter.allow(key, plan);
      this.#note(key, plan, { startMs, endMs: performance.now(), reason });
    } catch (error) {
      this.errors.push(error);
    }
  }

  #note(key: string, plan: PlanName, call: Call): void {
    const { startMs, endMs, reason } = call;
    this.longestWaitMs = Math.max(this.longestWaitMs, endMs - startMs);
    this.#reasons.set(reason, this.count(reason) + 1);
    if (reason === 'FAIL_OPEN') {
      this.#lastFailedMs = endMs;
      this.#vainWaitsMs.push(endMs - startMs);
      this.#steady = 0;
    }
    // Denials may be remembered, so that they say nothing about Redis.
    if (reason !== 'ALLOWED') return;
    this.#steady++;
    // Decided before or after what was forgotten: nobody knows.
    if (startMs < this.#sinceMs) return;
    const id = `${plan} ${key}`;
    const known = this.#admitted.get(id) ?? { plan, calls: [] };
    known.calls.push(call);
    this.#admitted.set(id, known);
  }

  async #tick(): Promise<void> {
    while (!this.#stopped) {
      const beforeMs = performance.now();
      await pause(5);
      this.lagMs = Math.max(this.lagMs, performance.now() - beforeMs - 5);
    }
  }
}

/** What fell wholly into an interval was decided in it; compared with the most that it may hold. */
function mostAbove(
  { capacity, tokensPerSecond }: { capacity: number; tokensPerSecond: number },
  calls: readonly Call[],
): number {
  const byEnd = [...calls].sort((a, b) => a.endMs - b.endMs);
  let most = 0;
  for (const { startMs } of calls) {
    const within = byEnd.filter((call) => call.startMs >= startMs);
    for (const [i, { endMs }] of within.entries()) {
      const allowed = capacity + (tokensPerSecond * (endMs - startMs)) / 1_000;
      most = Math.max(most, Math.ceil(i + 1 - allowed - 1e-6));
    }
  }
  return most;
}
