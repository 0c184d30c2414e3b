import { outsideRequests } from '../core/outside-requests.js';
import type { SeriesPoint, Totals } from './stats-snapshot.js';

const SECOND_MS = 1_000;
/** Two minutes. */
const MAX_POINTS = 120;
/** Nobody looks any more when nobody has for so long. */
const IDLE_MS = 150_000;

type Counted = Pick<Totals, 'allowed' | 'delayed' | 'denied'>;

/** What the series needs to know of the world. */
export interface SeriesTies {
  readonly read: () => Counted;
  /** Never runs backwards. */
  readonly nowMs: () => number;
  /** The time of day. */
  readonly timeMs: () => number;
}

/**
 * Requests per second, for the last two minutes. A timer runs while somebody looks: it starts with
 * the first look, and never keeps the process alive.
 */
export class SecondSeries {
  readonly #points: SeriesPoint[] = [];
  #timer: NodeJS.Timeout | undefined;
  #last: Counted | undefined;
  #lastMs = 0;
  #lookedMs = 0;

  constructor(private readonly ties: SeriesTies) {}

  /** The seconds that have passed since somebody began to look, the oldest first. */
  read(): readonly SeriesPoint[] {
    this.#lookedMs = this.ties.nowMs();
    if (this.#timer === undefined) this.#start();
    return [...this.#points];
  }

  /** Begins anew: what is counted has begun at zero. */
  reset(): void {
    this.#points.length = 0;
    this.#last = undefined;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.reset();
  }

  #start(): void {
    this.#begin();
    this.#timer = outsideRequests(() => setInterval(() => this.#tick(), SECOND_MS).unref());
  }

  #begin(): void {
    this.#last = { ...this.ties.read() };
    this.#lastMs = this.ties.nowMs();
  }

  #tick(): void {
    const nowMs = this.ties.nowMs();
    if (nowMs - this.#lookedMs > IDLE_MS) return this.stop();
    const before = this.#last;
    const seconds = Math.max(1, nowMs - this.#lastMs) / SECOND_MS;
    this.#begin();
    if (before) this.#add(before, this.#last!, seconds);
  }

  /** A process that was busy ticks late; what happened meanwhile is spread over that time. */
  #add(before: Counted, after: Counted, seconds: number): void {
    this.#points.push({
      atMs: this.ties.timeMs(),
      allowed: (after.allowed - before.allowed) / seconds,
      delayed: (after.delayed - before.delayed) / seconds,
      denied: (after.denied - before.denied) / seconds,
    });
    if (this.#points.length > MAX_POINTS) this.#points.shift();
  }
}
