import type { Limit } from './limit.js';

/**
 * A gate before a chain: shut while a cooldown lasts, then open for one probe at a time until a
 * probe succeeds. It also numbers the plans by which turns are booked, so that all processes notice
 * when the turns that they booked are void.
 */
export interface Gate {
  /** Whom the gate is for; the same as that of the limits behind it. */
  readonly key: string;
  /** How long a probe may take before another one is sent. */
  readonly probeUs: number;
  /**
   * The process that books, where several may: its turns and its probe are given up when it is not
   * heard of for `HOLDER_LIFE_US`.
   */
  readonly holder?: string | undefined;
}

/** What a gate said to a chain. */
export interface GateView {
  /** Grows with every new plan of turns; 0 while there was none. */
  readonly generation: number;
  /** Turns due later than this were void when the generation began. */
  readonly cutUs: number;
  /** Until it lets this chain pass; 0 when it does. */
  readonly waitUs: number;
  /** Whether this chain is the one that tries after a cooldown. */
  readonly isProbe: boolean;
  /** Whether it is waited for what such a one finds: that may come at any time. */
  readonly isTried: boolean;
  /** Blocks in a row. */
  readonly blocks: number;
  /** Present when a process that booked turns may have died: a beat would find out. */
  readonly isOverdue?: true;
}

/** How a gate is now. */
export interface GateState {
  /** Grows with every new plan of turns; 0 while there was none. */
  readonly generation: number;
  /** Turns due later than this were void when the generation began. */
  readonly cutUs: number;
  /** Blocks in a row. */
  readonly blocks: number;
  /** What is left of the cooldown; 0 when it is over or there was none. */
  readonly cooldownUs: number;
  /** Whether a cooldown is over and no probe has succeeded yet. */
  readonly isTrying: boolean;
  /** Whether this call opened, prolonged or ended a cooldown, or made a new plan. */
  readonly changed: boolean;
}

interface GateChangeBase {
  /** The gate that is meant. */
  readonly gate: Gate;
  /** The bucket behind the gate, whose turns are planned anew. */
  readonly bucket: Limit;
  /** How long the gate remembers. */
  readonly memoryUs: number;
}

/** The other side pushed back. */
export interface BlockChange extends GateChangeBase {
  readonly kind: 'block';
  /** Blocks in a row that open a cooldown. */
  readonly threshold: number;
  /** How long the cooldown is. */
  readonly cooldownUs: number;
  /** What the other side asked for, which opens or prolongs a cooldown by itself; 0 for nothing. */
  readonly retryAfterUs: number;
  /** The plan under which the request was sent; undefined when that is not known. */
  readonly generation: number | undefined;
}

/** The other side answered as it should. */
export interface SuccessChange extends GateChangeBase {
  readonly kind: 'success';
  /** The plan under which the request was sent; undefined when that is not known. */
  readonly generation: number | undefined;
}

/** Turns were given back in the middle of the queue, or the limits have changed. */
export interface ReplanChange extends GateChangeBase {
  readonly kind: 'replan';
  /** Time that nobody will use; little of it is not worth a new plan. */
  readonly wastedUs: number;
  /** Whether to make a new plan however little is wasted. */
  readonly always: boolean;
}

/** Somebody made room behind the gate: whoever waits may ask, in all processes alike. */
export interface FreeChange extends GateChangeBase {
  readonly kind: 'free';
  /**
   * Until when the others would have waited for a probe that is not made after all, so that another
   * one may be; undefined when it was a slot that came back.
   */
  readonly probeUntilUs?: number | undefined;
}

/**
 * The holder of the gate is alive. Then the others are looked after: what was booked by one that is
 * not heard of any more is given up, and the turns of all are planned anew.
 */
export interface BeatChange extends GateChangeBase {
  readonly kind: 'beat';
  /** When the last of its turns is due; 0 when it has none left, undefined to look after others only. */
  readonly dueUs: number | undefined;
  /** Where turns also hold slots: those that a dead process held ahead are free. */
  readonly slots: Limit | undefined;
}

/** Something that happened to a gate. */
export type GateChange = BlockChange | SuccessChange | ReplanChange | FreeChange | BeatChange;

/** Hears about changes of gates, also those made by other processes. */
export type GateListener = (key: string, state: GateState) => void;

/** A listener that was registered. */
export interface GateWatch {
  /** Whether changes made by others would be heard now. */
  readonly isLive: boolean;
  /** How often that was not so before: something may have been missed then. */
  readonly gaps: number;
  /** Hears nothing more. */
  close(): void;
}

/** Turns due so soon stay as they are when a plan is made: the news may come too late for them. */
export const REPLAN_GRACE_US = 50_000;
/** A process with turns is taken for dead when it was not heard of for so long. */
export const HOLDER_LIFE_US = 2_250_000;
/**
 * Turns due so soon stay as they are when a process is taken for dead, so that whoever knows the plan
 * of so long ago acts on none that is void.
 */
export const HOLDER_GRACE_US = 1_500_000;
/** Waste that is worth a new plan: this long at least, and this part of the queue. */
export const REPLAN_WASTE_US = 100_000;
export const REPLAN_WASTE_SHARE = 0.1;
