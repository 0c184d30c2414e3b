import { NEVER } from '../core/counter.js';
import type { RateLimitError } from '../core/errors.js';
import { lacksSlot } from '../core/lent-slots.js';
import type { Decision } from '../core/limit-store.js';
import {
  CostExceedsBurstError,
  OutboundUnavailableError,
  WaitTimedOutError,
} from './outbound-errors.js';
import type { ShutReason } from './shutter.js';

/** Whoever holds a slot tells when it is free, unless it died: so it is tried this often as well. */
const SLOT_RETRY_MS = 100;

/** A process that tries tells what it found, unless it died: so it is asked this often as well. */
const PROBE_RETRY_MS = 2_000;

/** What was asked for. */
export interface RefusedBooking {
  readonly domain: string;
  readonly tokens: number;
  readonly burstCapacity: number;
  /** Whether other processes share the store. */
  readonly isShared: boolean;
}

/** It is worth asking again, only not now. */
export interface NotYet {
  readonly waitMs: number;
  /** Whether it is sure that nobody gets a turn before. */
  readonly isSure: boolean;
  readonly reason: ShutReason;
}

/** What it means that a turn was refused: the wait has failed, or asking again may help. */
export function meaningOfRefusal(
  decision: Decision,
  { domain, tokens, burstCapacity, isShared }: RefusedBooking,
): RateLimitError | NotYet {
  const { failure, gate, waitUs } = decision;
  if (failure === 'closed') return new OutboundUnavailableError(domain);
  if (gate !== undefined && gate.waitUs > 0) {
    // Those who wait for a probe may be let go by what it finds, at any time.
    const mostMs = isShared && gate.isTried ? PROBE_RETRY_MS : Number.POSITIVE_INFINITY;
    return {
      waitMs: Math.min(gate.waitUs / 1_000, mostMs),
      isSure: !gate.isTried,
      reason: 'cooldown',
    };
  }
  if (waitUs === NEVER) return new CostExceedsBurstError(domain, tokens, burstCapacity);
  if (lacksSlot(decision)) {
    const waitMs = Math.min(waitUs / 1_000, SLOT_RETRY_MS);
    return { waitMs, isSure: false, reason: 'concurrency' };
  }
  return new WaitTimedOutError(domain, 'rate', Math.ceil(waitUs / 1_000));
}
