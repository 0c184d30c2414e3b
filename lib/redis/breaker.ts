/** Failures in a row after which the server is taken for dead. */
const FAILURES_TO_OPEN = 3;
/** How often a dead server is tried, in the background. */
const PROBE_INTERVAL_MS = 100;

/** Hears about changes of state, never about single requests. */
export interface HealthListener {
  /** Limits are no longer shared. */
  onDown(reason: string): void;
  /** Limits are shared again. */
  onUp(downMs: number, decidedWithout: number): void;
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

  constructor(
    private readonly probe: () => Promise<unknown>,
    private readonly listener: HealthListener,
    private readonly nowMs: () => number,
  ) {}

  get isOpen(): boolean {
    return this.#openedMs !== undefined;
  }

  succeed(): void {
    this.#failures = 0;
  }

  /** Counts a failure; returns whether it was the one that opened the breaker. */
  fail(reason: string, forCertain = false): boolean {
    this.#failures++;
    if (this.isOpen || (!forCertain && this.#failures < FAILURES_TO_OPEN)) return false;
    this.#openedMs = this.nowMs();
    this.#decidedWithout = 0;
    this.listener.onDown(reason);
    this.#timer = setInterval(() => void this.#try(), PROBE_INTERVAL_MS).unref();
    return true;
  }

  /** Counts a decision that was made without the server. */
  countDecision(): void {
    this.#decidedWithout++;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #try(): Promise<void> {
    try {
      await this.probe();
      this.#close();
    } catch {
      // Still down; the next probe comes by itself.
    }
  }

  #close(): void {
    if (this.#openedMs === undefined) return;
    const downMs = this.nowMs() - this.#openedMs;
    this.#openedMs = undefined;
    this.#failures = 0;
    clearInterval(this.#timer);
    this.listener.onUp(downMs, this.#decidedWithout);
  }
}
