import type { GateWatch } from '../core/gate.js';
import type { Decision, Inquiry } from '../core/limit-store.js';

/** While news does not come, a turn that was booked so long ago is checked before it is used. */
const TRUSTED_MS = 50;

/**
 * A turn that is used later than this would come on top of those of others: it is given up. While the
 * process was away, all that came due is.
 */
const LATE_MS = 500;
const LATE_WHEN_AWAY_MS = 50;

/** In place of how often news was missed: it was not heard at all when the turn was booked. */
const UNHEARD = -1;

/** A time at which one call may go. It belongs to the process, not to whoever it was booked for. */
export interface Turn {
  readonly tokens: number;
  readonly atMs: number;
  readonly bookedMs: number;
  /** When it was asked for: the store may have booked it as early as that. */
  readonly askedMs: number;
  /** How often news had been missed when it was booked. */
  readonly gaps: number;
  readonly decision: Decision;
  readonly leaseId: string;
}

/** When all turns that were there were known to be good. */
export interface Vouched {
  readonly atMs: number;
  /** How often news had been missed by then. */
  readonly gaps: number;
}

/** The turn that a decision gave. */
export function turnOf(
  decision: Decision,
  { limits, leaseId }: Inquiry,
  { askedMs, bookedMs }: Pick<Turn, 'askedMs' | 'bookedMs'>,
  { isLive, gaps }: GateWatch,
): Turn {
  const tokens = limits.at(-1)!.cost;
  const atMs = bookedMs + decision.waitUs / 1_000;
  return { tokens, atMs, askedMs, bookedMs, gaps: isLive ? gaps : UNHEARD, decision, leaseId };
}

/** Whether a turn is too late to be used, given whether this process was away for long. */
export function isLate(
  { atMs, askedMs, bookedMs }: Turn,
  nowMs: number,
  wasAway: boolean,
): boolean {
  if (!wasAway) return nowMs - atMs > LATE_MS;
  return nowMs - (atMs - (bookedMs - askedMs)) > LATE_WHEN_AWAY_MS;
}

/** Whether a turn may have become void without anybody here having heard of it. */
export function isDoubtful(
  { decision, bookedMs, gaps }: Turn,
  vouched: Vouched,
  watch: GateWatch,
  nowMs: number,
): boolean {
  if (decision.gate === undefined || nowMs - bookedMs <= TRUSTED_MS) return false;
  if (!watch.isLive) return true;
  return watch.gaps !== (bookedMs <= vouched.atMs ? Math.max(gaps, vouched.gaps) : gaps);
}
