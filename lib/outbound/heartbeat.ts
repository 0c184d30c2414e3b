import type { Gate } from '../core/gate.js';
import { HOLDER_GRACE_US } from '../core/gate.js';
import type { Decision } from '../core/limit-store.js';
import { Alarm } from './alarm.js';
import type { Ticker } from './ticker.js';

/** How often a process that has booked turns says that it is alive: thrice before it is taken for dead. */
const BEAT_MS = 750;
/** Turns of an older plan are void by then at the latest, if there is a newer one. */
const FRESH_MS = HOLDER_GRACE_US / 1_000;

/** Where a heartbeat goes. */
export interface HeardBy {
  readonly gate: Gate;
  /** Says up to when this process has turns; 0 for none. */
  beat(dueUs: number): Promise<unknown>;
}

/**
 * Says to the other processes that this one is alive while it has booked turns at a domain, so that
 * those of a dead one are given up. The same goes the other way: whoever has heard nothing for a while
 * may be taken for dead itself, and asks before it uses a turn. Silent where the store is not shared.
 */
export class Heartbeat {
  readonly #alarm: Alarm;
  #hasTurns = false;
  #isUnderWay = false;
  #sentMs = Number.NEGATIVE_INFINITY;
  /** When the last question was sent that told which plan of turns is the current one. */
  #knownMs = Number.NEGATIVE_INFINITY;
  /** Up to when the others count on this process: by the clock of the store, and by its own. */
  #dueUs = 0;
  #dueMs = 0;
  #probeMs = 0;

  constructor(
    private readonly store: HeardBy,
    private readonly ticker: Ticker,
  ) {
    this.#alarm = new Alarm(ticker, () => this.#beat());
  }

  /** Whether the others count on this process. */
  get isBeating(): boolean {
    return this.#hasTurns || this.#isUnderWay || this.ticker.nowMs() < this.#probeMs;
  }

  /** Which plan of turns is the current one was told in answer to a question that was sent then. */
  learn(askedMs: number): void {
    this.#knownMs = Math.max(this.#knownMs, askedMs);
  }

  /** Whether no turn that this process knows of can be void by now without its knowing. */
  isFresh(nowMs: number): boolean {
    return !this.#isNeeded || nowMs - this.#knownMs <= FRESH_MS;
  }

  /** The others count on this process from now on, until the turn comes or the probe is back. */
  note({ gate, failure, atUs, waitUs }: Decision): void {
    if (!this.#isNeeded || !gate || failure !== undefined) return;
    const neededUs = waitUs + (gate.isProbe ? this.store.gate.probeUs : 0);
    if (neededUs === 0) return;
    const nowMs = this.ticker.nowMs();
    // The store has noted it with the turn, as if it was a beat.
    if (this.#dueUs === 0) this.#sentMs = nowMs;
    this.#dueUs = Math.max(this.#dueUs, atUs + neededUs);
    this.#dueMs = Math.max(this.#dueMs, nowMs + neededUs / 1_000);
    if (!gate.isProbe) return;
    this.#probeMs = this.#dueMs;
    this.heed(this.#hasTurns);
  }

  /** The probe is back. */
  endProbe(): void {
    if (this.#probeMs === 0) return;
    this.#probeMs = 0;
    this.heed(this.#hasTurns);
  }

  /** Beats while there are turns, or a probe is out. */
  heed(hasTurns: boolean): void {
    this.#hasTurns = hasTurns;
    if (this.#dueUs === 0 || this.#isUnderWay) return;
    const nowMs = this.ticker.nowMs();
    if (hasTurns || nowMs < this.#probeMs) this.#alarm.setTo(this.#sentMs + BEAT_MS);
    else this.#leave(nowMs);
  }

  /** Says that the others need not count on this process. */
  stop(): void {
    this.#probeMs = 0;
    this.heed(false);
  }

  get #isNeeded(): boolean {
    return this.store.gate.holder !== undefined;
  }

  #beat(): void {
    const nowMs = this.ticker.nowMs();
    this.#sentMs = nowMs;
    if (this.#hasTurns || nowMs < this.#probeMs) this.#send(this.#dueUs, nowMs);
    else this.#leave(nowMs);
  }

  /** Those whose turns are over are not missed. */
  #leave(nowMs: number): void {
    this.#alarm.setTo(Number.POSITIVE_INFINITY);
    const isMissed = this.#dueMs > nowMs;
    this.#dueUs = 0;
    this.#dueMs = 0;
    if (isMissed) this.#send(0, nowMs);
  }

  #send(dueUs: number, sentMs: number): void {
    this.#isUnderWay = true;
    void this.store
      .beat(dueUs)
      .then(() => this.learn(sentMs))
      // The next one may arrive; and whoever is not heard of asks before it uses a turn.
      .catch(() => undefined)
      .finally(() => {
        this.#isUnderWay = false;
        this.heed(this.#hasTurns);
      });
  }
}
