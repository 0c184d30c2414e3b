import type { Awaitable } from './awaitable.js';
import { RateLimitError } from './errors.js';
import type { Gate, GateChange, GateListener, GateState, GateView, GateWatch } from './gate.js';
import type { Limit } from './limit.js';
import type { FailurePolicy } from './plan.js';

export type { Limit, LimitLabel } from './limit.js';

/** A chain of limits to decide together. The chain names every counter at most once. */
export interface Inquiry {
  /** What has to admit the request. */
  readonly limits: readonly Limit[];
  /**
   * `take` spends when every limit admits. `peek` only looks. `reserve` also spends ahead of time on
   * token buckets, when the wait is at most `maxWaitUs`; sliding windows and concurrency caps have
   * to admit at once, for nothing tells who else will be there later.
   */
  readonly mode: 'take' | 'peek' | 'reserve';
  /** Longest acceptable wait of a reservation. */
  readonly maxWaitUs: number;
  /** Names the slots that concurrency plans lend; unique among all processes. */
  readonly leaseId: string;
  /** Has to be open, too; a chain that it stops is denied and charged nothing. */
  readonly gate?: Gate;
  /** Whether it only writes down what is going on already, so that it is nobody's request. */
  readonly isBookkeeping?: true;
}

/** What one limit says. */
export interface LimitDecision {
  /** The limit that is meant. */
  readonly limit: Limit;
  /** Whether it stands in the way. A shadow plan may say no without denying the chain. */
  readonly admits: boolean;
  /** Tokens or slots left: after spending when the chain was allowed, as they are otherwise. */
  readonly remaining: number;
  /** Until this limit would admit the cost: 0 when it does now, NEVER when it cannot. */
  readonly waitUs: number;
  /** Until all that was spent has come back; 0 for concurrency, where time does not bring it. */
  readonly resetUs: number;
}

/** The answer to an inquiry. A refusal is a value, never an exception. */
export interface Decision {
  /** Whether every limit but the shadow ones admits; only then was anything spent. */
  readonly allowed: boolean;
  /** Until the caller may act: 0 at once, more for a reservation or a refusal, NEVER if it cannot. */
  readonly waitUs: number;
  /** When it was decided, on the store's own clock. */
  readonly atUs: number;
  /** One answer per limit, in the order of the inquiry. */
  readonly limits: readonly LimitDecision[];
  /** Present when the store could not answer: what was done instead. */
  readonly failure?: FailurePolicy;
  /** Whether it was known from before, without the store being asked. */
  readonly fromCache?: true;
  /** What the gate said, if the inquiry named one and the store could answer. */
  readonly gate?: GateView;
}

/** Something to be given back. Nothing is ever created by giving back: what is forgotten is full. */
export type Return =
  /** Tokens that were spent for nothing, by the cost of each limit. */
  | {
      readonly kind: 'refund';
      readonly limits: readonly Limit[];
      /**
       * What spent them: they come back where they were, less what has come back by time since.
       * Without one it is a credit by hand, which comes back whole.
       */
      readonly decision?: Decision | undefined;
    }
  /** The slots held under one lease. */
  | { readonly kind: 'release'; readonly limits: readonly Limit[]; readonly leaseId: string }
  /** A reservation that will not be used, slots included. */
  | { readonly kind: 'cancel'; readonly decision: Decision; readonly leaseId: string };

/** Slots held under one id. */
export interface HeldLease {
  /** Names the slots, in all processes. */
  readonly leaseId: string;
  /** What lent the slots. */
  readonly limits: readonly Limit[];
}

/**
 * Remembers what was spent. Every call is one step that no other can interleave, and one round trip
 * where there is one to make; calls may be sent together.
 */
export abstract class LimitStore {
  /** Whether `decide` answers without a promise, always. */
  readonly answersAtOnce: boolean = false;

  /** Decides a chain: every limit admits and is charged, or none is charged. */
  abstract decide(inquiry: Inquiry): Awaitable<Decision>;

  /** Hears of a decision that was made without asking it, as limits of 0 are. */
  witness(_decision: Decision): void {}

  /**
   * Gives back tokens, slots or a reservation. What is no longer there is left alone. Answers whether
   * anything came back.
   */
  abstract giveBack(returned: Return): Awaitable<boolean>;

  /** Prolongs leases by their full length. Answers for each whether all of its slots were still held. */
  abstract renew(leases: readonly HeldLease[]): Awaitable<readonly boolean[]>;

  /** Forgets limits, as if nothing had ever been spent. */
  abstract reset(limits: readonly Limit[]): Awaitable<void>;

  /** Changes a gate and the turns behind it, in one step. */
  changeGate(_change: GateChange): Awaitable<GateState> {
    throw withoutGates();
  }

  /** Tells how a gate is. */
  lookAtGate(_gate: Gate): Awaitable<GateState> {
    throw withoutGates();
  }

  /**
   * Tells about every change of a gate, also by other processes, until it is closed. Calls `onLive`
   * whenever changes by others begin to be heard: those before may have been missed.
   */
  watchGates(_listener: GateListener, _onLive?: () => void): GateWatch {
    throw withoutGates();
  }

  /** Lets go of whatever it opened. */
  close(): Awaitable<void> {}
}

function withoutGates(): RateLimitError {
  return without('gates', 'outbound limits', 'changeGate(), lookAtGate() and watchGates()');
}

function without(what: string, who: string, methods: string): RateLimitError {
  return new RateLimitError(
    'INVALID_OPTION',
    `This store has no ${what}, which ${who} need: implement ${methods}, or leave out the option ` +
      '`store`.',
  );
}
