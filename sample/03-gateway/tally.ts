/** What the gateway answered. */
export interface Answer {
  readonly status: number;
  /** The level that said no and what it limits, such as `route-qps`. */
  readonly refusedBy: string | undefined;
}

/** Counts answers. */
export class Tally {
  readonly statuses: Record<number, number> = {};
  readonly refusedBy: Record<string, number> = {};

  constructor(answers: readonly Answer[] = []) {
    for (const answer of answers) this.note(answer);
  }

  note({ status, refusedBy }: Answer): void {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    if (refusedBy) this.refusedBy[refusedBy] = (this.refusedBy[refusedBy] ?? 0) + 1;
  }

  /** For people: `5 × 200, 15 × 429 (route-qps)`. */
  toString(): string {
    const counts = Object.entries(this.statuses).map(([status, count]) => `${count} × ${status}`);
    const levels = Object.keys(this.refusedBy);
    return counts.join(', ') + (levels.length > 0 ? ` (${levels.join(', ')})` : '');
  }
}

/** Reads who said no from the body of a 429. */
export function answerOf(status: number, body: string): Answer {
  if (status !== 429) return { status, refusedBy: undefined };
  const { plans } = JSON.parse(body) as { plans: readonly string[] };
  return { status, refusedBy: plans[0] };
}
