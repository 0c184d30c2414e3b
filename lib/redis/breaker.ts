import { outsideRequests } from '../core/outside-requests.js';
import { DeadlineError } from './deadline.js';

/** Failures in a row after which a server is taken for dead. */
const FAILURES_TO_OPEN = 3;
/** How often a dead server is tried, in the background. */
const PROBE_INTERVAL_MS = 100;
/** Probes without an answer after which the connection is replaced. */
const PROBES_PER_CONNECTION = 2;

/** Hears about changes of state, never about single requests. */
export interface HealthListener {
  /** Limits that live on this server are no longer shared; '' where there is only one. */
  onDown(node: string, reason: string): void;
  /** They are shared again. */
  onUp(node: string, downMs: number, decidedWithout: number): void;
  /** A key of this plan holds something that is not ours; told for every request that meets it. */
  onUnreadable(plan: string): void;
}

/** What a breaker needs to know of the world. */
export interface BreakerTies {
  /** Tries the server; fails while it is down. */
  readonly probe: () => Promise<unknown>;
  /** Replaces a connection that stays silent. */
  readonly reconnect: () => void;
  /** Told when limits stop being shared, and when they are again. */
  readonly onDown: (reason: string) => void;
  readonly onUp: (downMs: number, decidedWithout: number) => void;
  readonly nowMs: () => number;
}

/**
 * Stops asking a server that does not answer. While it is open nobody waits, and one probe in the
 * background finds out when the server is back: users never pay for trying.
 */
export class Breaker {
  #failures = 0;
  #openedMs: number | undefined;
  #decidedWithout = 0;
  #timer: NodeJS.Timeout | undefined;
  #isTrying = false;
  #silentProbes = 0;

  constructor(private readonly ties: BreakerTies) {}

  get isOpen(): boolean {
    return this.#openedMs !== undefined;
  }

  /** Counts a failure, which opens the breaker if it is certain or one of several in a row. */
  fail(reason: string, forCertain = false): void {
    this.#failures++;
    if (this.isOpen || (!forCertain && this.#failures < FAILURES_TO_OPEN)) return;
    this.#openedMs = this.ties.nowMs();
    this.ties.onDown(reason);
    this.#timer = outsideRequests(() =>
      setInterval(() => void this.#try(), PROBE_INTERVAL_MS).unref(),
    );
  }

  /** Counts a decision that was made without the server. */
  countDecision(): void {
    this.#decidedWithout++;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #try(): Promise<void> {
    if (this.#isTrying) return;
    this.#isTrying = true;
    try {
      await this.ties.probe();
      this.#close();
    } catch (error) {
      this.#missed(error);
    } finally {
      this.#isTrying = false;
    }
  }

  /** Still down; the next probe comes by itself. */
  #missed(error: unknown): void {
    if (!(error instanceof DeadlineError)) return;
    // The network may have forgotten the connection: then it stays silent for ever.
    if (++this.#silentProbes % PROBES_PER_CONNECTION === 0) this.ties.reconnect();
  }

  #close(): void {
    if (this.#openedMs === undefined) return;
    const downMs = this.ties.nowMs() - this.#openedMs;
    this.#openedMs = undefined;
    this.stop();
    this.ties.onUp(downMs, this.#decidedWithout);
  }
}
