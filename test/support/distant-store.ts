import type { Gate, GateChange, GateListener, GateState, GateWatch } from '../../lib/core/gate.js';
import type { Decision, HeldLease, Inquiry, Limit, Return } from '../../lib/core/limit-store.js';
import { LimitStore } from '../../lib/core/limit-store.js';
import type { FakeTicker } from './fake-ticker.js';

/** A way that things go one after the other, each as long as it takes, never overtaking. */
class Line {
  #freeMs = 0;

  constructor(
    private readonly ticker: FakeTicker,
    private readonly delayMs: () => number,
  ) {}

  async pass(): Promise<void> {
    const atMs = Math.max(this.#freeMs, this.ticker.nowMs() + this.delayMs());
    this.#freeMs = atMs;
    const waitMs = atMs - this.ticker.nowMs();
    await new Promise<void>((resolve) => this.ticker.wakeIn(waitMs, resolve));
  }
}

/** How long each way takes, in whole milliseconds. */
export interface Distances {
  readonly thereMs: () => number;
  readonly backMs: () => number;
  readonly newsMs: () => number;
}

/**
 * A store that several processes share, seen from one of them: what is asked takes a while to get
 * there, answers and news take a while to come back, each on a line of its own.
 */
export class DistantStore extends LimitStore {
  readonly #there: Line;
  readonly #back: Line;
  readonly #news: Line;
  #isLive = true;
  #gaps = 0;
  #onLive: () => void = () => undefined;

  constructor(
    private readonly store: LimitStore,
    ticker: FakeTicker,
    { thereMs, backMs, newsMs }: Distances,
  ) {
    super();
    this.#there = new Line(ticker, thereMs);
    this.#back = new Line(ticker, backMs);
    this.#news = new Line(ticker, newsMs);
  }

  /** Hears no news for a while, as when the connection for them is lost. */
  set isDeaf(isDeaf: boolean) {
    if (isDeaf && this.#isLive) this.#gaps++;
    this.#isLive = !isDeaf;
    if (!isDeaf) this.#onLive();
  }

  override decide(inquiry: Inquiry): Promise<Decision> {
    return this.#ask(() => this.store.decide(inquiry));
  }

  override giveBack(returned: Return): Promise<boolean> {
    return this.#ask(() => this.store.giveBack(returned));
  }

  override renew(leases: readonly HeldLease[]): Promise<readonly boolean[]> {
    return this.#ask(() => this.store.renew(leases));
  }

  override reset(limits: readonly Limit[]): Promise<void> {
    return this.#ask(() => this.store.reset(limits));
  }

  override changeGate(change: GateChange): Promise<GateState> {
    return this.#ask(() => this.store.changeGate(change));
  }

  override lookAtGate(gate: Gate): Promise<GateState> {
    return this.#ask(() => this.store.lookAtGate(gate));
  }

  override watchGates(listener: GateListener, onLive: () => void = () => {}): GateWatch {
    this.#onLive = onLive;
    const watch = this.store.watchGates((key, state) => {
      if (this.#isLive) void this.#news.pass().then(() => listener(key, state));
    });
    const isLive = () => this.#isLive;
    const gaps = () => this.#gaps;
    return {
      get isLive() {
        return isLive();
      },
      get gaps() {
        return gaps();
      },
      close: () => watch.close(),
    };
  }

  async #ask<T>(carryOut: () => T | Promise<T>): Promise<T> {
    await this.#there.pass();
    const answer = await carryOut();
    await this.#back.pass();
    return answer;
  }
}
