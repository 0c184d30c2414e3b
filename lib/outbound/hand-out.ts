import type { TokenBucketPlan } from '../core/plan.js';
import { Pace } from './pace.js';
import type { PermitMaker } from './permit-maker.js';
import type { Ticker } from './ticker.js';
import type { Turn } from './turn.js';
import type { TurnBook } from './turn-book.js';
import type { Waiter } from './waiter.js';
import type { WaiterLine } from './waiter-line.js';

/** Permits are made no longer than that at a time: their holders hear of them when all are made. */
const LONGEST_RUN_MS = 10;

/** Why no more turns are handed out: none is due, or what is wrong with the first one. */
export type HandOutEnd = 'done' | 'doubtful' | 'unfit';

/** What handing out hangs on. */
export interface HandOutParts {
  readonly line: WaiterLine;
  readonly turns: TurnBook;
  readonly permits: PermitMaker;
  readonly ticker: Ticker;
  /** Called with the first when its time is over. */
  readonly onLate: (waiter: Waiter) => void;
}

/** Hands turns that have come to those who are first in the line. */
export class HandOut {
  /** Made when first needed. */
  #pace: Pace | undefined;
  #pacedMs = 0;

  constructor(private readonly parts: HandOutParts) {}

  /** Until when the next turn has to wait for those before it; 0 when it has not. */
  get pacedMs(): number {
    return this.#pacedMs;
  }

  /** The time is looked at for each: a permit that comes too late is none. */
  run(
    plan: TokenBucketPlan,
    isDoubtful: (turn: Turn, nowMs: number) => boolean = () => false,
  ): HandOutEnd {
    const { line, turns, ticker, onLate } = this.parts;
    const startedMs = ticker.nowMs();
    for (let nowMs = startedMs; nowMs - startedMs <= LONGEST_RUN_MS; nowMs = ticker.nowMs()) {
      const turn = turns.first;
      const waiter = line.first;
      if (!waiter || !turn || turn.atMs > nowMs) return 'done';
      if (waiter.expiresMs < nowMs) {
        onLate(waiter);
        continue;
      }
      if (isDoubtful(turn, nowMs)) return 'doubtful';
      if (line.withTurn === 0 || turn.tokens !== waiter.tokens) return 'unfit';
      if (!this.#keepsPace(turn, plan, nowMs)) return 'done';
      this.#give(turn, waiter);
    }
    return 'done';
  }

  #give(turn: Turn, waiter: Waiter): void {
    const { line, turns, permits } = this.parts;
    turns.takeFirst();
    line.takeFirst();
    waiter.go(permits.make(turn.decision, turn.leaseId, waiter.arrivedMs));
  }

  /** Turns that are late because this process was busy do not go all at once. */
  #keepsPace({ tokens }: Turn, plan: TokenBucketPlan, nowMs: number): boolean {
    this.#pace ??= new Pace(plan, nowMs);
    const waitMs = this.#pace.waitMs(plan, tokens, nowMs);
    this.#pacedMs = waitMs > 0 ? nowMs + waitMs : 0;
    if (waitMs > 0) return false;
    this.#pace.spend(plan, tokens, nowMs);
    return true;
  }
}
