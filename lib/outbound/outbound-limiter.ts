import { isPending } from '../core/awaitable.js';
import { checkTokens } from '../core/check/tokens.js';
import { InvalidOptionError } from '../core/errors.js';
import type { Decision } from '../core/limit-store.js';
import { DENY_ALL } from '../core/plan.js';
import type { AdaptiveThrottler } from './adaptive-throttler.js';
import { classifyError } from './classify-error.js';
import type { Domain } from './domain.js';
import type { DomainBook } from './domain-book.js';
import type { LimitStatsJson, LimitStatsSnapshot } from './limit-stats.js';
import { limitStatsJson } from './limit-stats.js';
import { OutboundDeniedError, UnknownDomainError, WaitAbortedError } from './outbound-errors.js';
import type { OutboundFetch } from './outbound-fetch.js';
import type { OutboundListener } from './outbound-listener.js';
import { Permit } from './permit.js';
import { reasonOfDenial, reasonOfError } from './refusal-reason.js';
import type { WaitOptions } from './wait-options.js';

/** The answer to `allow`. */
export type OutboundAnswer =
  | { readonly allowed: true; readonly retryAfterMs: 0; readonly permit: Permit }
  /** In how many milliseconds it is worth asking again: Infinity for never. */
  | { readonly allowed: false; readonly retryAfterMs: number; readonly permit?: undefined };

/** The stats of a domain, with the form that JSON gives them. */
export interface DomainStats extends LimitStatsSnapshot {
  /** The host that was called. */
  readonly domain: string;
  /** The same with the names that JSON files and logs use. */
  toJSON(): LimitStatsJson;
}

/** The parts that it is made of. */
export interface OutboundLimiterParts {
  readonly book: DomainBook;
  readonly throttler: AdaptiveThrottler;
  readonly fetch: OutboundFetch;
  readonly timeoutMs: number;
  /** The time of day, for the stats. */
  readonly timeMs: () => number;
  readonly listener?: OutboundListener;
}

/**
 * Keeps the calls that you make to others within what they allow, across all your workers. Turns are
 * given in order of arrival.
 */
export class OutboundLimiter {
  /** Why nobody can wait any more; undefined while one can. */
  #closed: { readonly reason: unknown } | undefined;

  /** @internal Made by the module. */
  constructor(private readonly parts: OutboundLimiterParts) {}

  /** Waits until a call may be made. Fails with an error that says why it never will. */
  async wait(domain: string, options: WaitOptions = {}): Promise<Permit> {
    const { tokens = 1, signal, timeoutMs = this.parts.timeoutMs } = options;
    checkWait(tokens, timeoutMs);
    const known = this.parts.book.use(domain);
    const { listener } = this.parts;
    const ended = this.#closed ?? (signal?.aborted ? signal : undefined);
    if (ended) {
      known.stats.recordCancelled();
      listener?.onRefusal(known.found.source, 'canceled', 0);
      throw new WaitAbortedError(known.name, ended.reason);
    }
    this.#refuseWhereOff(known);
    const arrivedMs = known.usedMs;
    try {
      const waiting = known.wait(tokens, timeoutMs, signal ?? undefined);
      const permit = isPending(waiting) ? await waiting : waiting;
      known.stats.recordPermit(permit.waitedMs, this.parts.timeMs());
      listener?.onPermit(known.found.source, permit.waitedMs);
      return permit;
    } catch (error) {
      known.stats.recordCancelled();
      const waitedMs = this.parts.book.nowMs() - arrivedMs;
      listener?.onRefusal(known.found.source, reasonOfError(error), waitedMs);
      throw error;
    } finally {
      known.closeIdleQueue();
    }
  }

  /** Takes a permit if a call may be made at once. */
  async allow(domain: string, tokens = 1): Promise<OutboundAnswer> {
    checkWait(tokens, 0);
    const known = this.parts.book.use(domain);
    const { source } = known.found;
    const { listener } = this.parts;
    if (isOff(known)) {
      listener?.onRefusal(source, 'deny_list', 0);
      return { allowed: false, retryAfterMs: Number.POSITIVE_INFINITY };
    }
    const answer = await known.takeNow(tokens);
    if (!(answer instanceof Permit)) {
      listener?.onRefusal(source, reasonOfDenial(answer), 0);
      return refusal(answer);
    }
    known.stats.recordPermit(0, this.parts.timeMs());
    listener?.onPermit(source, 0);
    return { allowed: true, retryAfterMs: 0, permit: answer };
  }

  /** Waits, makes the call and gives its slot back, whatever becomes of it. */
  async run<T>(
    domain: string,
    call: (permit: Permit) => T | Promise<T>,
    options: WaitOptions = {},
  ): Promise<T> {
    const permit = await this.wait(domain, options);
    try {
      const value = await call(permit);
      // The others wait for what it found.
      if (permit.isProbe) await this.parts.throttler.recordSuccess(domain, { permit });
      return value;
    } catch (error) {
      const isGivenUp = options.signal?.aborted && classifyError(error) === undefined;
      if (isGivenUp) await this.parts.throttler.giveUp(domain, permit);
      throw error;
    } finally {
      await permit.release();
    }
  }

  /**
   * `fetch` that waits for its turn first, and tells the throttler what came of it. The body is left
   * for you to read: a slot of `maxConcurrent` is held until it was received, failed or cancelled.
   * Each redirect is a call to its own domain, which waits for its turn there.
   */
  fetch(input: string | URL | Request, init: RequestInit & WaitOptions = {}): Promise<Response> {
    const { timeoutMs = this.parts.timeoutMs } = init;
    return this.parts.fetch.fetch(this, input, { ...init, timeoutMs });
  }

  /** The stats of a domain that was called. */
  getStats(domain: string): DomainStats {
    return statsOf(this.#find(domain));
  }

  /** The stats of every domain that was called, by name. */
  getAllStats(): Record<string, DomainStats> {
    const entries = this.parts.book.all().map((domain) => [domain.name, statsOf(domain)] as const);
    return Object.fromEntries(entries);
  }

  /** Forgets the stats of a domain, those of its cooldowns included. */
  resetStats(domain: string): void {
    const known = this.#find(domain);
    known.stats.reset();
    known.throttleStats.reset();
  }

  /** How many wait for a domain in this process, and for how long the first of them has. */
  waiting(domain: string): { readonly count: number; readonly oldestMs: number } {
    const queue = this.parts.book.find(domain)?.queue;
    return { count: queue?.waiting ?? 0, oldestMs: queue?.oldestWaitMs ?? 0 };
  }

  /** Ends every wait, also those that somebody begins later. */
  close(reason: unknown): void {
    this.#closed ??= { reason };
    for (const domain of this.parts.book.all()) domain.close(reason);
  }

  #refuseWhereOff(domain: Domain): void {
    if (!isOff(domain)) return;
    this.parts.listener?.onRefusal(domain.found.source, 'deny_list', 0);
    throw new OutboundDeniedError(domain.name);
  }

  #find(name: string): Domain {
    const domain = this.parts.book.find(name);
    if (!domain) throw new UnknownDomainError(name);
    return domain;
  }
}

function checkWait(tokens: number, timeoutMs: number): void {
  checkTokens(tokens);
  if (timeoutMs >= 0) return;
  throw new InvalidOptionError('timeoutMs', 'a number of milliseconds from 0 up', timeoutMs);
}

function isOff({ found }: Domain): boolean {
  return found.rule.maxConcurrent === DENY_ALL;
}

function refusal({ waitUs }: Decision): OutboundAnswer {
  return { allowed: false, retryAfterMs: Math.max(1, Math.ceil(waitUs / 1_000)) };
}

function statsOf({ name, stats }: Domain): DomainStats {
  const snapshot = stats.snapshot();
  return { domain: name, ...snapshot, toJSON: () => limitStatsJson(name, snapshot) };
}
