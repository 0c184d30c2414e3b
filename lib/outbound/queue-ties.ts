import type { GateState, GateWatch } from '../core/gate.js';
import type { LeaseTies } from '../core/held-slots.js';
import type { Limit } from '../core/limit-store.js';
import type { AbortBoard } from './abort-board.js';
import type { Ticker } from './ticker.js';

/** The limits of a domain, as they are at the moment. */
export interface DomainLimits {
  readonly bucket: Limit;
  /** How many may be under way at once; undefined for any number. */
  readonly slots: Limit | undefined;
}

/** What a queue hangs on. */
export interface QueueTies extends LeaseTies {
  readonly ticker: Ticker;
  readonly watch: GateWatch;
  /** One for all queues: who waits for many domains may do so by one signal. */
  readonly aborts: AbortBoard;
  readonly newLeaseId: () => string;
  /** Names this process among those that share the store; undefined where it is not shared. */
  readonly holder?: string | undefined;
  /** Told whenever a gate keeps a call from going. */
  readonly onShut: (domain: string, shut: ShutGate) => void;
}

/** What a call learns about a gate that is shut. */
export type ShutGate = Pick<GateState, 'blocks' | 'cooldownUs'>;
