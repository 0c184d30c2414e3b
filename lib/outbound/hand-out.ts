import type { TokenBucketPlan } from '../core/plan.js';
import { Pace } from './pace.js';
import type { PermitMaker } from './permit-maker.js';
import type { Turn } from './turn.js';
import type { TurnBook } from './turn-book.js';
import type { WaiterLine } from './waiter-line.js';

/** Why no more turns are handed out: none is due, or what is wrong with the first one. */
export type HandOutEnd = 'done' | 'doubtful' | 'unfit';

/** Hands turns that have come to those who are first in the line. */
export class HandOut {
  /** Made when first needed. */
  #pace: Pace | undefined;
  #pacedMs = 0;

  constructor(
    private readonly line: WaiterLine,
    private readonly turns: TurnBook,
    private readonly permits: PermitMaker,
  ) {}

  /** Until when the next turn has to wait for those before it; 0 when it has not. */
  get pacedMs(): number {
    return this.#pacedMs;
  }

  run(
    plan: TokenBucketPlan,
    nowMs: number,
    isDoubtful: (turn: Turn) => boolean = () => false,
  ): HandOutEnd {
    for (;;) {
      const turn = this.turns.first;
      const waiter = this.line.first;
      if (!waiter || !turn || turn.atMs > nowMs) return 'done';
      if (isDoubtful(turn)) return 'doubtful';
      if (turn.tokens !== waiter.tokens) return 'unfit';
      if (!this.#keepsPace(turn, plan, nowMs)) return 'done';
      this.turns.takeFirst();
      this.line.remove(waiter);
      waiter.go(this.permits.make(turn.decision, turn.leaseId, waiter.arrivedMs));
    }
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
