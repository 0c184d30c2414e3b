import { HOLDER_LIFE_US } from './gate.js';

interface Holder {
  /** When the last of its turns is due. */
  dueUs: number;
  /** When it was heard of. */
  readonly seenUs: number;
}

/** The processes that have booked turns behind a gate. Kept in step with lua/gate.lua and lua/decide.lua. */
export class TurnHolders {
  readonly #holders = new Map<string, Holder>();
  /** No holder is taken for dead before. */
  #sweepUs = Number.POSITIVE_INFINITY;

  get isEmpty(): boolean {
    return this.#holders.size === 0;
  }

  /** Whether it is time to look for holders that have died. */
  isOverdue(nowUs: number): boolean {
    return nowUs >= this.#sweepUs;
  }

  /** A holder is alive, and has turns up to then. */
  note(id: string, dueUs: number, nowUs: number): void {
    const latestUs = Math.max(dueUs, this.#holders.get(id)?.dueUs ?? 0);
    this.#holders.set(id, { dueUs: latestUs, seenUs: nowUs });
    this.#sweepUs = Math.min(this.#sweepUs, nowUs + HOLDER_LIFE_US);
  }

  /** A holder has no turns left. */
  leave(id: string): void {
    this.#holders.delete(id);
  }

  /** Forgets those whose turns are over or who have died; tells the dead whose turns were to come. */
  sweep(nowUs: number): string[] {
    const dead: string[] = [];
    this.#sweepUs = Number.POSITIVE_INFINITY;
    for (const [id, { dueUs, seenUs }] of this.#holders) {
      const endsUs = seenUs + HOLDER_LIFE_US;
      if (dueUs > nowUs && endsUs <= nowUs) dead.push(id);
      if (dueUs <= nowUs || endsUs <= nowUs) this.#holders.delete(id);
      else this.#sweepUs = Math.min(this.#sweepUs, endsUs);
    }
    return dead;
  }
}
