import type { GateWatch } from '../core/gate.js';
import type { Decision, Inquiry } from '../core/limit-store.js';

/** While news does not come, a turn that was booked so long ago is checked before it is used. */
const TRUSTED_MS = 50;

/** In place of how often news was missed: it was not heard at all when the turn was booked. */
const UNHEARD = -1;

/** A time at which one call may go. It belongs to the process, not to whoever it was booked for. */
export interface Turn {
  readonly tokens: number;
  readonly atMs: number;
  readonly bookedMs: number;
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
  bookedMs: number,
  { isLive, gaps }: GateWatch,
): Turn {
  const tokens = limits.at(-1)!.cost;
  const atMs = bookedMs + decision.waitUs / 1_000;
  return { tokens, atMs, bookedMs, gaps: isLive ? gaps : UNHEARD, decision, leaseId };
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
